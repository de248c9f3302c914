//! Policies that need no file: all, nothing, or a function.

use std::marker::PhantomData;

use async_trait::async_trait;
use holdpoint_core::Decision;

use crate::{AuthorizeRequest, OwnedRequest, Policy, PolicyError};

/// Denies every call and hides nothing. What holds when no policy is given.
#[derive(Clone, Copy, Debug, Default)]
pub struct DenyAll;

#[async_trait]
impl Policy for DenyAll {
    async fn authorize(&self, _request: &AuthorizeRequest<'_>) -> Result<Decision, PolicyError> {
        Ok(Decision::deny("no call is allowed"))
    }
}

/// Allows every call. For tools that can do no harm.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllowAll;

#[async_trait]
impl Policy for AllowAll {
    async fn authorize(&self, _request: &AuthorizeRequest<'_>) -> Result<Decision, PolicyError> {
        Ok(Decision::allow())
    }
}

/// What a policy function may return: a decision, or a result with one.
pub trait IntoDecision: Send {
    /// The decision, or why there is none.
    fn into_decision(self) -> Result<Decision, PolicyError>;
}

impl IntoDecision for Decision {
    fn into_decision(self) -> Result<Decision, PolicyError> {
        Ok(self)
    }
}

impl IntoDecision for Result<Decision, PolicyError> {
    fn into_decision(self) -> Result<Decision, PolicyError> {
        self
    }
}

/// A policy from a function that decides at once.
pub fn policy_fn<F, R>(decide: F) -> impl Policy + 'static
where
    F: Fn(&AuthorizeRequest<'_>) -> R + Send + Sync + 'static,
    R: IntoDecision + 'static,
{
    PolicyFn { decide, returns: PhantomData }
}

/// A policy from an async function, which gets a request of its own.
pub fn async_policy_fn<F, Fut>(decide: F) -> impl Policy + 'static
where
    F: Fn(OwnedRequest) -> Fut + Send + Sync + 'static,
    Fut: Future + Send + 'static,
    Fut::Output: IntoDecision,
{
    AsyncPolicyFn { decide }
}

struct PolicyFn<F, R> {
    decide: F,
    returns: PhantomData<fn() -> R>,
}

#[async_trait]
impl<F, R> Policy for PolicyFn<F, R>
where
    F: Fn(&AuthorizeRequest<'_>) -> R + Send + Sync,
    R: IntoDecision,
{
    async fn authorize(&self, request: &AuthorizeRequest<'_>) -> Result<Decision, PolicyError> {
        (self.decide)(request).into_decision()
    }
}

struct AsyncPolicyFn<F> {
    decide: F,
}

#[async_trait]
impl<F, Fut> Policy for AsyncPolicyFn<F>
where
    F: Fn(OwnedRequest) -> Fut + Send + Sync,
    Fut: Future + Send,
    Fut::Output: IntoDecision,
{
    async fn authorize(&self, request: &AuthorizeRequest<'_>) -> Result<Decision, PolicyError> {
        (self.decide)(request.to_owned_request()).await.into_decision()
    }
}

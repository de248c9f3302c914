//! What a server asks a person in the middle of a call, and what it is told.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use holdpoint_core::Given;
use holdpoint_tools::Inquiry;
use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest, InputRequiredResult, InputResponses,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The largest thing that a server may ask, all of it together.
const ASK_BYTES_MAX: usize = 64 * 1024;

/// What is kept with the run while a person thinks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum AskState {
    /// The server waits on its connection. The number tells one wait of a call from another.
    Waiting {
        /// Which wait.
        wait: u64,
        /// How it is answered.
        mode: Mode,
    },
    /// The server forgot the call, and is told everything again with the answer.
    Again {
        /// Given back as it came.
        request_state: Option<String>,
        /// What was asked, by the server's own keys.
        asked: BTreeMap<String, Asked>,
    },
}

/// How one thing that was asked is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// With content.
    Form,
    /// By having been somewhere.
    Url,
}

/// One thing that a server asked when it gave a call back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Asked {
    /// A person.
    Person(Mode),
    /// Which folders it may use: none.
    Roots,
}

/// Why something that a server asked cannot be passed to a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotAskable {
    TooLarge,
    /// It wants our model, which it never gets.
    WantsModel,
    Unreadable,
}

/// One question to a person, without the state.
struct Form {
    message: String,
    schema: Value,
    mode: Mode,
}

impl Form {
    fn of(params: &ElicitRequestParams) -> Result<Self, NotAskable> {
        match params {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                let schema = serde_json::to_value(requested_schema).map_err(|_| NotAskable::Unreadable)?;
                Ok(Self { message: message.clone(), schema, mode: Mode::Form })
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                let schema = json!({ "type": "object", "additionalProperties": false });
                Ok(Self { message: format!("{message}\n{url}"), schema, mode: Mode::Url })
            }
            _ => Err(NotAskable::Unreadable),
        }
    }
}

/// What a person is asked when a server asks over its connection and waits there.
pub(crate) fn waiting_inquiry(params: &ElicitRequestParams, wait: u64) -> Result<Inquiry, NotAskable> {
    let Form { message, schema, mode } = Form::of(params)?;
    inquiry(message, schema, &AskState::Waiting { wait, mode })
}

/// What a person is asked when a server gave the call back with questions. Nothing when it asks no person.
pub(crate) fn again_inquiry(result: &InputRequiredResult) -> Result<Option<Inquiry>, NotAskable> {
    let mut asked = BTreeMap::new();
    let mut forms: Vec<(&String, Form)> = Vec::new();
    for (key, request) in result.input_requests.iter().flatten() {
        match request {
            InputRequest::Elicitation(request) => {
                let form = Form::of(&request.params)?;
                asked.insert(key.clone(), Asked::Person(form.mode));
                forms.push((key, form));
            }
            InputRequest::ListRoots(_) => drop(asked.insert(key.clone(), Asked::Roots)),
            InputRequest::CreateMessage(_) => return Err(NotAskable::WantsModel),
            _ => return Err(NotAskable::Unreadable),
        }
    }
    let state = AskState::Again { request_state: result.request_state.clone(), asked };
    let (message, schema) = match forms.len() {
        0 => return Ok(None),
        1 => forms.pop().map(|(_, form)| (form.message, form.schema)).unwrap_or_default(),
        _ => together(forms),
    };
    inquiry(message, schema, &state).map(Some)
}

/// Several questions as one, each under its key.
fn together(forms: Vec<(&String, Form)>) -> (String, Value) {
    let required: Vec<&String> = forms.iter().map(|(key, _)| *key).collect();
    let required = json!(required);
    let message: Vec<String> = forms.iter().map(|(key, form)| format!("{key}: {}", form.message)).collect();
    let properties: Map<String, Value> = forms.into_iter().map(|(key, form)| (key.clone(), form.schema)).collect();
    (message.join("\n"), json!({ "type": "object", "properties": properties, "required": required }))
}

fn inquiry(message: String, schema: Value, state: &AskState) -> Result<Inquiry, NotAskable> {
    let state = serde_json::to_value(state).map_err(|_| NotAskable::Unreadable)?;
    let bytes = message.len() + schema.to_string().len() + state.to_string().len();
    if bytes > ASK_BYTES_MAX {
        return Err(NotAskable::TooLarge);
    }
    Ok(Inquiry { message: message.into(), schema, state })
}

/// What a person said, read back from where it was kept.
pub(crate) struct Reply {
    pub(crate) inquiry: Inquiry,
    pub(crate) state: AskState,
    content: Value,
}

impl Reply {
    /// Nothing when it cannot be read: then it was not asked by us, or not answered.
    pub(crate) fn of(given: &Given) -> Option<Self> {
        let inquiry = Inquiry::from_result(&given.asks)?;
        let state = serde_json::from_value(inquiry.state.clone()).ok()?;
        let content = inquiry.read_answer(given.answer.as_deref()).ok()?;
        Some(Self { inquiry, state, content })
    }

    /// For a server that waits on its connection.
    pub(crate) fn accepted(&self, mode: Mode) -> ElicitResult {
        accepted(mode, &self.inquiry.schema, &self.content)
    }

    /// For a server that gets the call again.
    pub(crate) fn responses(&self, asked: &BTreeMap<String, Asked>) -> InputResponses {
        let people = asked.values().filter(|asked| matches!(asked, Asked::Person(_))).count();
        let response = |(key, asked): (&String, &Asked)| {
            let value = match asked {
                Asked::Roots => json!({ "roots": [] }),
                Asked::Person(mode) if people == 1 => to_json(&accepted(*mode, &self.inquiry.schema, &self.content)),
                Asked::Person(mode) => {
                    let schema = &self.inquiry.schema["properties"][key];
                    to_json(&accepted(*mode, schema, &self.content[key]))
                }
            };
            (key.clone(), value)
        };
        asked.iter().map(response).collect()
    }
}

/// What a server is told that asked no person.
pub(crate) fn without_people(result: &InputRequiredResult) -> InputResponses {
    result.input_requests.iter().flatten().map(|(key, _)| (key.clone(), json!({ "roots": [] }))).collect()
}

fn to_json(result: &ElicitResult) -> Value {
    serde_json::to_value(result).unwrap_or_default()
}

fn accepted(mode: Mode, schema: &Value, content: &Value) -> ElicitResult {
    let result = ElicitResult::new(ElicitationAction::Accept);
    match mode {
        Mode::Url => result,
        Mode::Form => result.with_content(with_defaults(schema, content)),
    }
}

/// What a person left out has the value that the server proposed.
fn with_defaults(schema: &Value, content: &Value) -> Value {
    let mut filled = content.as_object().cloned().unwrap_or_default();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(default) = property.get("default") {
            filled.entry(name.clone()).or_insert_with(|| default.clone());
        }
    }
    Value::Object(filled)
}

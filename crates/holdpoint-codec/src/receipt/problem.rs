//! Why a receipt proves nothing.

/// Why a receipt proves nothing. Its sentence holds nothing of the receipt or the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ReceiptProblem {
    /// The task has none.
    #[error("it has no receipt")]
    Missing,
    /// Above the limit; not even looked at.
    #[error("the receipt has more than {} bytes", super::RECEIPT_BYTES_MAX)]
    TooLarge,
    /// Not a receipt.
    #[error("the receipt cannot be read")]
    Malformed,
    /// A receipt of a version that is not known.
    #[error("the receipt has a version that is not known")]
    UnsupportedVersion,
    /// No key with its id is known here.
    #[error("the receipt's key is not known here")]
    UnknownKey,
    /// It was changed, or somebody else signed it.
    #[error("the receipt's signature does not hold")]
    BadSignature,
    /// Its time is over.
    #[error("the receipt is expired")]
    Expired,
    /// It is for a call of another run.
    #[error("the receipt is for another run")]
    OtherRun,
    /// It is for another call of the run.
    #[error("the receipt is for another call")]
    OtherCall,
    /// It is for another tool.
    #[error("the receipt is for another tool")]
    OtherTool,
    /// It is for other arguments.
    #[error("the receipt is for other arguments")]
    OtherArguments,
}

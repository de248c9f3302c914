//! One key for all who sign for a store: leases, cursors and receipts of one server are believed by the others.

use holdpoint_codec::receipt::ReceiptKey;
use holdpoint_store::{Store, StoreError, StoreFault};

/// Where a store keeps the public half.
const SETTING: &str = "signing_key";
const DOING: &str = "use this key";

/// Makes a key that of the store, unless it has one. Only the public half is kept.
///
/// # Errors
/// `store_other_key` when the store has another one.
pub async fn claim_key(store: &Store, key: &ReceiptKey) -> Result<(), StoreError> {
    let brought = key.public().to_text();
    let theirs = store.state.first_setting(SETTING, &brought).await?;
    if *theirs == *brought { Ok(()) } else { Err(other_key(&theirs, brought)) }
}

/// Makes a key that of the store, whichever it had. Whoever still signs with the one before is not believed any more by
/// those who begin from now on.
///
/// # Errors
/// `store_other_key` when somebody else changes it at the same moment.
pub async fn replace_key(store: &Store, key: &ReceiptKey) -> Result<(), StoreError> {
    let brought = key.public().to_text();
    let before = store.state.first_setting(SETTING, &brought).await?;
    if store.state.change_setting(SETTING, &before, &brought).await? {
        Ok(())
    } else {
        Err(other_key(&before, brought))
    }
}

fn other_key(theirs: &str, brought: String) -> StoreError {
    let fault = StoreFault::OtherKey { theirs: theirs.to_owned(), brought };
    StoreError::fault(fault, DOING, "all servers of one database need the same key")
}

//! Cutting results.

use holdpoint_core::{Blob, Block, JsonText, ResultKind, ToolResult};
use proptest::prelude::*;

use super::{TRUNCATED, limit_output};

fn image(bytes: usize) -> Block {
    Block::Image(Blob { media_type: "image/png".into(), bytes: vec![0; bytes].into() })
}

fn total(result: &ToolResult) -> usize {
    result.blocks.iter().map(Block::len_bytes).sum()
}

#[test]
fn what_fits_stays_as_it_is() {
    let result = ToolResult::success("x".repeat(20));
    assert!(limit_output(result.clone(), 20).same_as(&result));
}

#[test]
fn text_is_cut_and_the_marker_counts_within_the_limit() {
    let cut = limit_output(ToolResult::success("x".repeat(21)), 20);
    assert_eq!(cut.text(), format!("{}{TRUNCATED}", "x".repeat(9)));
}

#[test]
fn text_is_cut_at_a_character() {
    let cut = limit_output(ToolResult::success("ä".repeat(20)), 20);
    assert_eq!(cut.text(), format!("{}{TRUNCATED}", "ä".repeat(4)));
}

#[test]
fn a_limit_below_the_marker_leaves_what_fits_of_it() {
    assert_eq!(limit_output(ToolResult::success("x".repeat(99)), 5).text(), "[trun");
    assert_eq!(limit_output(ToolResult::success("x".repeat(99)), 0).text(), "");
}

#[test]
fn the_limit_counts_over_all_blocks() {
    let blocks = vec![Block::text("a".repeat(20)), Block::text("b".repeat(20)), Block::text("c".repeat(20))];
    let cut = limit_output(ToolResult::from_blocks(blocks), 45);
    assert_eq!(cut.text(), format!("{}\n{}{TRUNCATED}", "a".repeat(20), "b".repeat(14)));
}

#[test]
fn a_cut_is_seen_even_if_the_first_block_just_fits() {
    let blocks = vec![Block::text("a".repeat(20)), Block::text("b".repeat(20))];
    let cut = limit_output(ToolResult::from_blocks(blocks), 22);
    assert_eq!(cut.text(), format!("{}{TRUNCATED}", "a".repeat(11)));
}

#[test]
fn an_image_a_file_and_json_are_replaced_by_a_sentence_with_their_size() {
    let json = Block::Json(JsonText::new(format!("\"{}\"", "x".repeat(998))));
    let file = Block::File(Blob { media_type: "text/csv".into(), bytes: vec![0; 1000].into() });
    for (block, word) in [(image(1000), "image"), (file, "file"), (json, "JSON value")] {
        let cut = limit_output(ToolResult::from_blocks(vec![block]), 200);
        assert_eq!(cut.text(), format!("Left out because it is too large: {word} of 1000 bytes."));
    }
}

#[test]
fn what_follows_a_replaced_image_is_kept() {
    let cut = limit_output(ToolResult::from_blocks(vec![image(1000), Block::text("a caption")]), 200);
    assert!(cut.text().ends_with("\na caption"), "{}", cut.text());
}

#[test]
fn a_sentence_that_does_not_fit_is_cut_like_a_text() {
    let blocks = vec![Block::text("a".repeat(20)), image(1000), image(0)];
    let cut = limit_output(ToolResult::from_blocks(blocks), 36);
    assert_eq!(cut.text(), format!("{}\nLeft {TRUNCATED}", "a".repeat(20)));
}

#[test]
fn error_flag_and_metadata_survive() {
    let result = ToolResult::error("x".repeat(99)).with_metadata("took", JsonText::new("7"));
    let cut = limit_output(result, 30);
    assert_eq!(cut.kind, ResultKind::Error);
    assert_eq!(cut.metadata.get("took").map(JsonText::expose), Some("7"));
}

proptest! {
    #[test]
    fn the_limit_is_never_exceeded_and_a_cut_always_shows(
        texts in prop::collection::vec("[aä€𝄞]{0,40}", 0..5),
        images in prop::collection::vec(0usize..400, 0..3),
        limit in 0usize..300,
    ) {
        let mut blocks: Vec<Block> = texts.into_iter().map(Block::text).collect();
        blocks.extend(images.into_iter().map(image));
        let result = ToolResult::from_blocks(blocks);
        let cut = limit_output(result.clone(), limit as u64);
        prop_assert!(total(&cut) <= limit);
        prop_assert_eq!(total(&result) <= limit, cut.same_as(&result));
        if total(&result) > limit && limit >= TRUNCATED.len() {
            let text = cut.text();
            prop_assert!(text.contains(TRUNCATED) || text.contains("Left out because"), "{}", text);
        }
    }
}

//! Tokens in files.
use super::super::token_file::TokenFile;
use std::time::Duration;
use tokio::time::advance;

const INTERVAL: Duration = Duration::from_secs(30);

async fn token(file: &TokenFile) -> String {
    let header = file.header().await.unwrap();
    assert!(header.is_sensitive());
    header.to_str().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_token_is_trimmed_read_again_each_minute_and_its_last_value_outlives_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    std::fs::write(&path, "first\n").unwrap();
    let file = TokenFile::new(path.clone());
    assert_eq!(token(&file).await, "Bearer first");
    std::fs::write(&path, "second").unwrap();
    assert_eq!(token(&file).await, "Bearer first");
    advance(Duration::from_mins(2)).await;
    assert_eq!(token(&file).await, "Bearer second");
    std::fs::remove_file(&path).unwrap();
    advance(Duration::from_mins(2)).await;
    assert_eq!(token(&file).await, "Bearer second");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_has_the_file_read_at_once_but_not_more_often_than_the_interval() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    std::fs::write(&path, "first").unwrap();
    let file = TokenFile::new(path.clone());
    let first = file.header().await.unwrap();
    assert!(!file.refused(Some(&first), INTERVAL).await, "nothing new");
    std::fs::write(&path, "second").unwrap();
    assert!(!file.refused(Some(&first), INTERVAL).await, "too soon");
    assert_eq!(token(&file).await, "Bearer first");
    advance(INTERVAL).await;
    assert!(file.refused(Some(&first), INTERVAL).await);
    assert_eq!(token(&file).await, "Bearer second");
    assert!(
        file.refused(Some(&first), INTERVAL).await,
        "whoever comes late with the first token learns that there is a second"
    );
}

#[tokio::test]
async fn a_file_that_holds_no_usable_token_is_an_error_that_names_it_and_not_its_content() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    for (content, reason) in [
        (&b" \n"[..], "holds no token"),
        (&b"SECRET\nSECRET"[..], "has characters that no header can carry"),
        (&vec![b'S'; 70_000][..], "larger than 64 KiB, which no token is"),
        (&b"SECRET\xff"[..], "not UTF-8"),
    ] {
        std::fs::write(&path, content).unwrap();
        let error = TokenFile::new(path.clone()).header().await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("token file {}: {reason}", path.display())
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_that_cannot_be_read_is_not_looked_at_by_every_request() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    let file = TokenFile::new(path.clone());
    assert!(file.header().await.is_err());
    std::fs::write(&path, "first").unwrap();
    assert!(file.header().await.is_err(), "within the pause");
    advance(Duration::from_secs(1)).await;
    assert_eq!(token(&file).await, "Bearer first");
}

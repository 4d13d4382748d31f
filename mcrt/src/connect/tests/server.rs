//! A TCP server that says what a test tells it to, and tells what it saw.
use super::SOON;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
    time::timeout,
};

/// Ends with the test that holds it.
pub(super) struct Server {
    pub(super) address: String,
    requests: mpsc::UnboundedReceiver<String>,
    open: Arc<AtomicUsize>,
    made: Arc<AtomicUsize>,
    _accepting: JoinSet<()>,
}

impl Server {
    /// Answers every request with this text.
    pub(super) async fn answering(answer: String) -> Self {
        Self::start(Some(answer)).await
    }

    /// Takes requests and leaves them unanswered.
    pub(super) async fn silent() -> Self {
        Self::start(None).await
    }

    async fn start(answer: Option<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (sender, requests) = mpsc::unbounded_channel();
        let open = Arc::new(AtomicUsize::new(0));
        let mut accepting = JoinSet::new();
        let counter = Arc::clone(&open);
        let made = Arc::new(AtomicUsize::new(0));
        let accepted = Arc::clone(&made);
        accepting.spawn(async move {
            let mut serving = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                accepted.fetch_add(1, Ordering::SeqCst);
                counter.fetch_add(1, Ordering::SeqCst);
                let (sender, answer, counter) = (sender.clone(), answer.clone(), Arc::clone(&counter));
                serving.spawn(async move {
                    serve(stream, &sender, answer.as_deref()).await;
                    counter.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self {
            address,
            requests,
            open,
            made,
            _accepting: accepting,
        }
    }

    /// The next bytes that came in.
    pub(super) async fn request(&mut self) -> String {
        timeout(SOON, self.requests.recv())
            .await
            .expect("a request comes")
            .unwrap()
    }

    /// How many connections there have been.
    pub(super) fn made(&self) -> usize {
        self.made.load(Ordering::SeqCst)
    }

    /// How many connections are open.
    pub(super) fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }

    /// Waits until no connection is open.
    pub(super) async fn all_closed(&self) {
        let closed = async {
            while self.open() > 0 {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
        };
        timeout(std::time::Duration::from_secs(1), closed)
            .await
            .expect("sockets close within a second");
    }
}

async fn serve(mut stream: TcpStream, requests: &mpsc::UnboundedSender<String>, answer: Option<&str>) {
    let mut buffer = vec![0; 8 << 10];
    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
        let _ = requests.send(String::from_utf8_lossy(&buffer[..length]).into_owned());
        if let Some(answer) = answer {
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    }
}

/// A whole response.
pub(super) fn response(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}")
}

/// A response whose body begins and does not end.
pub(super) fn endless(chunk: &str) -> String {
    let length = chunk.len();
    format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{length:x}\r\n{chunk}\r\n")
}

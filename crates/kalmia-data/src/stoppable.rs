//! A stream whose reader can be stopped while it waits: a thread of its own does the reading.

use std::io::{Error, ErrorKind, Read, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::time::Duration;

/// How often a waiting reader checks its flag.
const POLL: Duration = Duration::from_millis(50);
/// Bytes read at a time, more than a pipe holds.
const BUFFER_BYTES: usize = 1 << 17;
/// Buffers read ahead.
const BUFFERS_AHEAD: usize = 4;

/// Bytes of a stream, until a flag is set.
pub(crate) struct Stoppable {
    full: Receiver<Result<Vec<u8>>>,
    spare: Sender<Vec<u8>>,
    /// What was received last, and how much of it is used.
    bytes: Vec<u8>,
    used: usize,
    stop: &'static AtomicBool,
}

impl Stoppable {
    /// Starts reading.
    pub fn start(mut stream: impl Read + Send + 'static, stop: &'static AtomicBool) -> Self {
        let (full_in, full) = sync_channel(BUFFERS_AHEAD);
        let (spare, spare_out): (Sender<Vec<u8>>, Receiver<Vec<u8>>) = channel();
        // Detached: a thread that waits for bytes ends with the process, others when nobody
        // receives.
        std::thread::spawn(move || {
            loop {
                let mut bytes = spare_out.try_recv().unwrap_or_default();
                bytes.resize(BUFFER_BYTES, 0);
                let read = match stream.read(&mut bytes) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    other => other,
                };
                let last = !matches!(read, Ok(1..));
                let outcome = read.map(|n| {
                    bytes.truncate(n);
                    bytes
                });
                if full_in.send(outcome).is_err() || last {
                    break;
                }
            }
        });
        Self { full, spare, bytes: Vec::new(), used: 0, stop }
    }

    /// Waits for the next buffer, empty at the end.
    fn refill(&mut self) -> Result<()> {
        let next = loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Error::other("stopped"));
            }
            match self.full.recv_timeout(POLL) {
                Ok(next) => break next?,
                Err(RecvTimeoutError::Timeout) => {}
                // The last buffer was the end, or an error already reported.
                Err(RecvTimeoutError::Disconnected) => break Vec::new(),
            }
        };
        // The thread may have ended already; the buffer is then dropped.
        let _ = self.spare.send(std::mem::replace(&mut self.bytes, next));
        self.used = 0;
        Ok(())
    }
}

impl Read for Stoppable {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        if self.used == self.bytes.len() {
            self.refill()?;
        }
        let n = (&self.bytes[self.used..]).read(buf)?;
        self.used += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives all its bytes, then nothing, without ending.
    struct Silent(std::io::Cursor<Vec<u8>>);

    impl Read for Silent {
        fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
            match self.0.read(buf)? {
                0 => loop {
                    std::thread::park();
                },
                n => Ok(n),
            }
        }
    }

    fn bytes() -> Vec<u8> {
        (0..1_000_000u32).map(|i| (i % 251) as u8).collect()
    }

    #[test]
    fn every_byte_arrives_in_order() {
        static STOP: AtomicBool = AtomicBool::new(false);
        let mut stream = Stoppable::start(std::io::Cursor::new(bytes()), &STOP);
        let mut read = Vec::new();
        stream.read_to_end(&mut read).unwrap();
        assert!(read == bytes());
        assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0, "the end stays the end");
    }

    #[test]
    fn a_silent_stream_ends_with_the_flag() {
        static STOP: AtomicBool = AtomicBool::new(false);
        let mut stream = Stoppable::start(Silent(std::io::Cursor::new(bytes())), &STOP);
        let mut read = vec![0; 1_000_000];
        stream.read_exact(&mut read).unwrap();
        assert!(read == bytes());
        STOP.store(true, Ordering::Relaxed);
        assert_eq!(stream.read(&mut [0; 8]).unwrap_err().to_string(), "stopped");
    }
}

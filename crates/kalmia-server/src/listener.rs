//! Accepting connections.

use axum::serve::Listener;
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpStream};

/// Connections as they come, without delays for small answers.
pub struct Plain(pub TcpListener);

impl Listener for Plain {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        // axum's own accept waits out errors such as too many open files
        let (stream, address) = Listener::accept(&mut self.0).await;
        // an answer must not wait for the acknowledgement of the one before
        let _ = stream.set_nodelay(true);
        (stream, address)
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// HTTPS.
#[cfg(feature = "tls")]
pub mod tls {
    use super::Plain;
    use crate::config::TlsFiles;
    use axum::serve::Listener;
    use std::net::SocketAddr;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::mpsc;
    use tokio_rustls::TlsAcceptor;
    use tokio_rustls::rustls::ServerConfig;
    use tokio_rustls::rustls::pki_types::pem::PemObject;
    use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use tokio_rustls::server::TlsStream;

    /// A handshake must end within this time.
    const HANDSHAKE_TIME: Duration = Duration::from_secs(10);

    type Accepted = (TlsStream<TcpStream>, SocketAddr);

    /// Connections after their handshake, which runs beside that of others.
    pub struct Secure {
        accepted: mpsc::Receiver<Accepted>,
        address: SocketAddr,
    }

    impl Secure {
        /// Starts to accept with the certificate and key of these files.
        pub fn new(listener: TcpListener, files: &TlsFiles) -> Result<Self, String> {
            let config = config(files)?;
            let address = listener.local_addr().map_err(|error| error.to_string())?;
            let acceptor = TlsAcceptor::from(Arc::new(config));
            let (sender, accepted) = mpsc::channel(64);
            tokio::spawn(async move {
                let mut listener = Plain(listener);
                loop {
                    let (stream, address) = listener.accept().await;
                    let acceptor = acceptor.clone();
                    let sender = sender.clone();
                    tokio::spawn(async move {
                        let handshake = acceptor.accept(stream);
                        if let Ok(Ok(stream)) =
                            tokio::time::timeout(HANDSHAKE_TIME, handshake).await
                        {
                            // the service has stopped if nobody receives
                            let _ = sender.send((stream, address)).await;
                        }
                    });
                }
            });
            Ok(Self { accepted, address })
        }
    }

    fn config(files: &TlsFiles) -> Result<ServerConfig, String> {
        let place = |path: &Path, problem: &dyn std::fmt::Display| {
            format!("cannot read {} as PEM: {problem}", path.display())
        };
        let path = &files.certificate;
        let certificates = CertificateDer::pem_file_iter(path).map_err(|e| place(path, &e))?;
        let certificates: Result<Vec<_>, _> = certificates.collect();
        let certificates = certificates.map_err(|e| place(path, &e))?;
        let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|e| place(&files.key, &e))?;
        ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(certificates, key)
            .map_err(|error| format!("the certificate or its key cannot be used: {error}"))
    }

    impl Listener for Secure {
        type Io = TlsStream<TcpStream>;
        type Addr = SocketAddr;

        async fn accept(&mut self) -> Accepted {
            match self.accepted.recv().await {
                Some(accepted) => accepted,
                // the task that accepts never ends
                None => std::future::pending().await,
            }
        }

        fn local_addr(&self) -> std::io::Result<SocketAddr> {
            Ok(self.address)
        }
    }
}

//! Listening, the work in the background, and an orderly stop.

use crate::config::Config;
use crate::routes::router;
use crate::service::{Service, now};
use crate::store::{Writing, sql};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

/// Keys and rows that one job forgets at most.
const EXPIRED: usize = 1000;
/// Time between two looks at what is due.
const TICK: Duration = Duration::from_secs(1);
/// Time for snapshots at the end, even if requests took all of the time.
const MIN_SNAPSHOT_TIME: Duration = Duration::from_millis(150);
/// Time between two looks for what has expired.
const EXPIRE_EVERY: u64 = 60;

/// Runs the service until a signal ends it. The address is printed once it takes requests. An error
/// says what to do.
pub fn serve(config: Config) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("kalmia")
        .build()
        .map_err(|error| format!("cannot start: {error}"))?;
    let outcome = runtime.block_on(run(config));
    // what is left are connections that did not end in time
    runtime.shutdown_timeout(Duration::from_millis(50));
    outcome
}

async fn run(config: Config) -> Result<(), String> {
    #[cfg(not(feature = "tls"))]
    if config.tls.is_some() {
        return Err("this build has no TLS; build with the feature `tls`, or use a proxy".into());
    }
    let listen = config.listen;
    // first, so that an address in use is reported before the log is learned
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|error| format!("cannot listen on {listen}: {error}; choose another --listen"))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let opening = tokio::task::spawn_blocking(move || Service::open(config));
    let service = opening.await.map_err(|error| error.to_string())??;
    let scheme = if service.config.tls.is_some() { "https" } else { "http" };
    let background = tokio::spawn(background(service.clone()));
    let stopped = stop_signal(service.clone())?;
    announce(&format!("listening on {scheme}://{address}"));
    if service.config.token_file.is_none() {
        crate::log::info("no tokens: everybody on this machine may use the service");
    }
    let app = router(service.clone());
    let mut stopping = service.stopping.subscribe();
    let shutdown = async move {
        let _ = stopping.wait_for(|stop| *stop).await;
    };
    let serving: tokio::task::JoinHandle<std::io::Result<()>> = match &service.config.tls {
        None => tokio::spawn(async move {
            axum::serve(crate::listener::Plain(listener), app)
                .with_graceful_shutdown(shutdown)
                .await
        }),
        #[cfg(feature = "tls")]
        Some(files) => {
            let listener = crate::listener::tls::Secure::new(listener, files)?;
            tokio::spawn(async move {
                axum::serve(listener, app).with_graceful_shutdown(shutdown).await
            })
        }
        #[cfg(not(feature = "tls"))]
        Some(_) => unreachable!("refused above"),
    };
    let _ = stopped.await;
    background.abort();
    stop(&service, serving).await;
    Ok(())
}

/// The one line on standard output.
fn announce(text: &str) {
    let mut out = std::io::stdout().lock();
    // nobody reads it if standard output is closed
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Ends requests within the limit, learns what is logged, writes snapshots.
async fn stop(service: &Arc<Service>, serving: tokio::task::JoinHandle<std::io::Result<()>>) {
    let end = Instant::now() + service.config.drain;
    if timeout(service.config.drain, serving).await.is_err() {
        crate::log::info("some connections did not end in time");
    }
    while service.models().iter().any(|hosted| !hosted.is_idle()) && Instant::now() < end {
        sleep(Duration::from_millis(2)).await;
    }
    let left = end.saturating_duration_since(Instant::now()).max(MIN_SNAPSHOT_TIME);
    if timeout(left, service.snapshot_all()).await.is_err() {
        crate::log::info("not all snapshots were made in time; the log has what they lack");
    }
    service.store.stop();
    crate::log::info("stopped");
}

/// Waits for SIGTERM or SIGINT; SIGHUP reads the tokens again.
#[cfg(unix)]
fn stop_signal(service: Arc<Service>) -> Result<tokio::task::JoinHandle<()>, String> {
    use tokio::signal::unix::{SignalKind, signal};
    let listen = |kind| signal(kind).map_err(|error| format!("cannot wait for signals: {error}"));
    let mut terminate = listen(SignalKind::terminate())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut hangup = listen(SignalKind::hangup())?;
    Ok(tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
                _ = hangup.recv() => reload(&service),
            }
        }
        begin_stop(&service);
    }))
}

/// Waits for Ctrl-C; tokens are read again by the admin call.
#[cfg(not(unix))]
fn stop_signal(service: Arc<Service>) -> Result<tokio::task::JoinHandle<()>, String> {
    Ok(tokio::spawn(async move {
        // without a handler the system ends the process, as `kill -9` would
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        begin_stop(&service);
    }))
}

fn begin_stop(service: &Service) {
    crate::log::info("stopping");
    service.stopping.send_replace(true);
}

#[cfg(unix)]
fn reload(service: &Service) {
    let crate::auth::Access::Tokens(file) = &service.access else { return };
    match file.reload() {
        Ok(tokens) => crate::log::info(&format!("{tokens} tokens read")),
        Err(problem) => crate::log::error(&format!("the tokens stay as they are: {problem}")),
    }
}

/// Snapshots that are due, and what has expired.
async fn background(service: Arc<Service>) {
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut count = 0;
    loop {
        ticks.tick().await;
        service.snapshot_due().await;
        if count % EXPIRE_EVERY == 0 {
            expire(&service).await;
        }
        count += 1;
    }
}

/// Forgets keys and rows whose time is over.
async fn expire(service: &Service) {
    let keys_before = now() - i64::try_from(service.config.key_ttl.as_secs()).unwrap_or(i64::MAX);
    loop {
        let forget = move |writing: &mut Writing<'_>| {
            let keys = sql::expire_keys(writing.transaction, keys_before, EXPIRED)?;
            Ok((keys, sql::expire_pending(writing.transaction, now(), EXPIRED)?))
        };
        let Ok((keys, pending)) = service.store.call(forget).await else { return };
        for hosted in service.models() {
            let gone = pending.iter().filter(|model| **model == hosted.id).count();
            hosted.pending.fetch_sub(gone as u64, Ordering::Relaxed);
        }
        if keys < EXPIRED && pending.len() < EXPIRED {
            return;
        }
    }
}

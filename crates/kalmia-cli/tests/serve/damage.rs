//! What a disk can do to the service: files that are damaged or torn, and no room.

use crate::harness::{Folder, wait_until};
use crate::server::{Server, flights, late, unlabelled, with_model};
use std::fs::OpenOptions;
use std::io::Write;
use std::process::Command;

/// Learns, stops and starts until there are two snapshots beyond the first; the model's bytes.
fn two_snapshots(folder: &Folder) -> Vec<u8> {
    let server = with_model(folder, "");
    server.put("/v1/models/other", &late());
    for part in 0..3 {
        for model in ["late", "other"] {
            server.post(&format!("/v1/models/{model}/learn"), &flights(part, 20)).ok();
        }
    }
    assert!(server.stop().success());
    let server = Server::start(folder, "");
    server.post("/v1/models/late/learn", &flights(9, 20)).ok();
    let bytes = server.snapshot("late");
    assert!(server.stop().success());
    bytes
}

/// The snapshot files of the first model, the oldest first.
fn snapshot_files(folder: &Folder) -> Vec<String> {
    let names = folder.names_in("data/snapshots");
    let mut files: Vec<_> = names.into_iter().filter(|name| name.starts_with("1-")).collect();
    let sequence = |name: &String| name[2..name.len() - 7].parse::<u64>().unwrap();
    files.sort_by_key(sequence);
    files
}

fn damage(folder: &Folder, file: &str) {
    let name = format!("data/snapshots/{file}");
    let mut bytes = folder.read(&name);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    folder.write(&name, bytes);
}

#[test]
fn a_damaged_snapshot_falls_back_to_the_one_before() {
    let folder = Folder::new("serve-damaged");
    let expected = two_snapshots(&folder);
    let files = snapshot_files(&folder);
    assert_eq!(files.len(), 2, "{files:?}");
    damage(&folder, &files[1]);
    let server = Server::start(&folder, "");
    assert!(server.snapshot("late") == expected, "the older snapshot and the log give the same");
    let log = server.log();
    assert!(log.contains(&files[1]) && log.contains("using the snapshot before it"), "{log}");
    server.post("/v1/models/late/learn", &flights(10, 5)).ok();
}

#[test]
fn a_model_without_a_readable_snapshot_says_what_to_do_and_others_are_served() {
    let folder = Folder::new("serve-lost");
    two_snapshots(&folder);
    snapshot_files(&folder).iter().for_each(|file| damage(&folder, file));
    let server = Server::start(&folder, "");
    let rows = unlabelled(&flights(1, 1));
    let error = server.post("/v1/models/late/predict", &rows).refused(409, "model_damaged");
    assert!(error["hint"].as_str().unwrap().contains("backup"), "{error}");
    server.post("/v1/models/late/learn", &flights(1, 1)).refused(409, "model_damaged");
    assert_eq!(server.get("/v1/models").ok()["models"][0]["state"], "damaged");
    server.post("/v1/models/other/predict", &rows).ok();
    server.post("/v1/models/other/learn", &flights(1, 3)).ok();
    assert_eq!(server.send("DELETE", "/v1/models/late", &[], b"").status, 204);
    assert_eq!(server.put("/v1/models/late", &late()).status, 201);
}

#[test]
fn a_torn_last_page_of_the_log_loses_nothing_acknowledged() {
    let folder = Folder::new("serve-torn");
    let server = with_model(&folder, "");
    for part in 0..5 {
        server.post("/v1/models/late/learn", &flights(part, 10)).ok();
    }
    let expected = server.snapshot("late");
    server.kill();
    // what a write that was cut off leaves: half a frame of whatever the disk held
    let wal = folder.path("data/kalmia.db-wal");
    let bytes = std::fs::read(&wal).unwrap();
    let frame = 24 + 4096;
    assert!(bytes.len() > 32 + frame, "the log is in the file that is torn");
    let mut file = OpenOptions::new().append(true).open(&wal).unwrap();
    file.write_all(&bytes[bytes.len() - frame..][..frame / 2]).unwrap();
    drop(file);
    let server = Server::start(&folder, "");
    assert!(server.snapshot("late") == expected);
    assert_eq!(server.get("/v1/models/late").ok()["rows"], 50);
}

/// A service whose folder is a file system of its own, of some megabytes and with a filler.
fn on_small_disk(folder: &Folder) -> Option<Server> {
    std::fs::create_dir_all(folder.path("data")).unwrap();
    let script = "mount -t tmpfs -o size=6m tmpfs data && head -c 4000000 /dev/zero > data/filler \
                  && exec \"$0\" serve --data data --listen 127.0.0.1:0 --snapshot-every 100000";
    let unshared = |script: &str| {
        let mut command = Command::new("unshare");
        command.current_dir(folder.path("")).args(["--map-root-user", "--mount", "sh", "-c"]);
        command.args([script, env!("CARGO_BIN_EXE_kalmia")]);
        command
    };
    let allowed = unshared("mount -t tmpfs tmpfs data").status().is_ok_and(|s| s.success());
    if !allowed {
        println!("not run: this system lets nobody mount a file system in a namespace");
        return None;
    }
    Some(Server::run(unshared(script)))
}

#[test]
fn a_full_disk_refuses_to_learn_goes_on_predicting_and_recovers() {
    let folder = Folder::new("serve-full");
    let Some(server) = on_small_disk(&folder) else { return };
    assert_eq!(server.put("/v1/models/late", &late()).status, 201);
    let mut learned = 0;
    let refused = loop {
        let answer = server.post("/v1/models/late/learn", &flights(learned, 500));
        if answer.status != 200 {
            break answer;
        }
        learned += 1;
        assert!(learned < 10_000, "the disk never fills");
    };
    let error = refused.refused(507, "disk_full");
    assert!(error["hint"].as_str().unwrap().contains("free space"), "{error}");
    assert_eq!(refused.header("retry-after"), Some("1"));
    let rows = unlabelled(&flights(1, 1));
    server.post("/v1/models/late/predict", &rows).ok();
    assert_eq!(server.get("/v1/models/late").ok()["rows"], learned * 500);
    // the file system is seen through the process that has it
    let filler = format!("/proc/{}/cwd/data/filler", server.id());
    let inside = format!("/proc/{}/root{}", server.id(), folder.path("data/filler").display());
    std::fs::remove_file(&inside).or_else(|_| std::fs::remove_file(&filler)).unwrap();
    wait_until("room on the disk", || {
        server.post_key("/v1/models/late/learn", "again", &flights(learned, 500)).status == 200
    });
    assert_eq!(server.get("/v1/models/late").ok()["rows"], (learned + 1) * 500);
    assert!(server.stop().success());
}

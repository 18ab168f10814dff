//! Replacement under failures, races and odd places.

use super::*;

/// A fresh folder, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("kalmia-atomic-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_new_content_replaces_the_old_one_and_nothing_is_left() {
    let folder = Folder::new("replace");
    let path = folder.0.join("model");
    for content in ["one", "a longer two", ""] {
        replace(&path, |sink| sink.write_all(content.as_bytes())).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
        assert_eq!(folder.names(), ["model"]);
    }
}

#[test]
fn a_failure_at_any_byte_keeps_the_old_file_and_no_temporary() {
    let folder = Folder::new("failure");
    let path = folder.0.join("model");
    fs::write(&path, "old").unwrap();
    for written in [0, 1, 100, 65_535, 65_536, 200_000] {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let result = replace(&path, |sink| sink.write_all(&vec![7; written]).and(Err(full())));
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(folder.names(), ["model"]);
    }
    let panicked = std::panic::catch_unwind(|| replace(&path, |_| panic!("on purpose")));
    assert!(panicked.is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(folder.names(), ["model"]);
}

#[test]
fn a_folder_or_a_missing_folder_is_an_error() {
    let folder = Folder::new("folder");
    assert_eq!(replace(&folder.0, |_| Ok(())).unwrap_err().kind(), io::ErrorKind::IsADirectory);
    assert_eq!(
        replace(folder.0.join("no/model"), |_| Ok(())).unwrap_err().kind(),
        io::ErrorKind::NotFound
    );
    assert!(folder.names().is_empty());
}

#[test]
fn leftovers_of_killed_writers_go_and_those_of_live_ones_stay() {
    let folder = Folder::new("sweep");
    let path = folder.0.join("model");
    for name in [
        ".model.123-4.kalmia-tmp",
        ".model.x-4.kalmia-tmp",
        ".other.123-4.kalmia-tmp",
        ".model.123-5.kalmia-tmp",
    ] {
        fs::write(folder.0.join(name), "half").unwrap();
    }
    let live =
        OpenOptions::new().write(true).open(folder.0.join(".model.123-5.kalmia-tmp")).unwrap();
    live.try_lock().unwrap();
    // a writer is itself live while another one starts
    replace(&path, |sink| {
        replace(&path, |sink| sink.write_all(b"inner")).and(sink.write_all(b"outer"))
    })
    .unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "outer");
    assert_eq!(
        folder.names(),
        [".model.123-5.kalmia-tmp", ".model.x-4.kalmia-tmp", ".other.123-4.kalmia-tmp", "model"]
    );
}

#[test]
fn names_of_legal_length_work() {
    let folder = Folder::new("long");
    let path = folder.0.join("m".repeat(250));
    replace(&path, |sink| sink.write_all(b"x")).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"x");
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_permissions_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new("links");
    let path = folder.0.join("model");
    let link = folder.0.join("link");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("model", &link).unwrap();
    replace(&link, |sink| sink.write_all(b"new")).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}

/// `/proc` accepts no new files, not even from the superuser.
#[cfg(target_os = "linux")]
#[test]
fn an_unwritable_folder_is_an_error_and_its_file_stays() {
    let old = fs::read("/proc/version").unwrap();
    for path in ["/proc/version", "/proc/model"] {
        assert!(replace(path, |sink| sink.write_all(b"x")).is_err(), "{path}");
    }
    assert_eq!(fs::read("/proc/version").unwrap(), old);
}

#[cfg(target_os = "linux")]
#[test]
fn devices_are_written_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    replace("/dev/null", |sink| sink.write_all(b"x")).unwrap();
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    assert_eq!(
        replace("/dev/full", |sink| sink.write_all(b"x")).unwrap_err().kind(),
        io::ErrorKind::StorageFull
    );
}

/// Many threads create and sweep at once: every writer finishes, and nothing is left.
#[test]
fn writers_do_not_sweep_each_other() {
    let folder = Folder::new("race");
    let path = folder.0.join("model");
    std::thread::scope(|scope| {
        for writer in 0..4_u8 {
            let path = &path;
            scope.spawn(move || {
                for _ in 0..200 {
                    replace(path, |sink| sink.write_all(&[writer; 100])).unwrap();
                }
            });
        }
    });
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.len() == 100 && bytes.iter().all(|b| *b == bytes[0]), "{bytes:?}");
    assert_eq!(folder.names(), ["model"]);
}

fn busy(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::ResourceBusy.into())
}

fn target(path: &Path) -> Target {
    let Place::File(target) = Place::of(path).unwrap() else { panic!("{path:?} is no file") };
    target
}

/// A file that is a mount point of its own cannot be renamed over.
#[test]
fn a_mounted_file_is_overwritten_in_place() {
    let folder = Folder::new("mounted");
    let path = folder.0.join("model");
    for (old, new) in [("a longer old one", "new"), ("old", "a longer new one")] {
        fs::write(&path, old).unwrap();
        let opened = File::open(&path).unwrap();
        let write = |sink: &mut dyn Write| sink.write_all(new.as_bytes());
        let replaced = target(&path).replace_by(write, || Ok(()), busy).unwrap();
        assert!(replaced.is_none());
        assert!(super::super::temporary::is_at(&opened, &path), "it is another file now");
        assert_eq!(fs::read_to_string(&path).unwrap(), new);
        assert_eq!(folder.names(), ["model"]);
    }
    // a file that is not there has nothing to be mounted over
    let absent = folder.0.join("absent");
    let write = |sink: &mut dyn Write| sink.write_all(b"x");
    let error = target(&absent).replace_by(write, || Ok(()), busy).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
    assert_eq!(folder.names(), ["model"]);
}

#[test]
fn a_failed_overwrite_puts_the_old_content_back() {
    let folder = Folder::new("put-back");
    let path = folder.0.join("model");
    fs::write(&path, "old").unwrap();
    // the new content cannot be read
    target(&path).overwrite(&folder.0.join("nothing")).unwrap_err();
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(folder.names(), ["model"]);
}

#[test]
fn what_cannot_be_written_is_known_before() {
    let folder = Folder::new("check");
    check_writable(folder.0.join("model")).unwrap();
    assert!(folder.names().is_empty());
    check_writable(&folder.0).unwrap_err();
    check_writable(folder.0.join("no/model")).unwrap_err();
    if cfg!(target_os = "linux") {
        check_writable("/proc/model").unwrap_err();
        check_writable("/proc/version").unwrap_err();
        check_writable("/dev/null").unwrap();
    }
}

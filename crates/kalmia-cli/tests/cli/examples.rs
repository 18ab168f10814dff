//! The examples of the repository give what their page prints, and agree with independent batch
//! fits.

use crate::harness::{Folder, repository};

/// Every `$ kalmia ...` of the page is run in its folder and must print what follows it.
#[test]
fn the_page_prints_what_the_command_prints() {
    let page = std::fs::read_to_string(repository("examples/README.md")).unwrap();
    let mut compared = 0;
    for block in page.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        for step in block.split("$ kalmia ").skip(1) {
            let (words, expected) = step.split_once('\n').unwrap();
            let folder = Folder::new("page");
            for entry in std::fs::read_dir(repository("examples")).unwrap() {
                let path = entry.unwrap().path();
                std::fs::copy(&path, folder.path(path.file_name().unwrap().to_str().unwrap()))
                    .unwrap();
            }
            let got = folder.ok(&format!("--quiet {words}"));
            assert_eq!(got.trim_end(), expected.trim_end(), "kalmia {words}");
            compared += 1;
        }
    }
    assert!(compared >= 3, "only {compared} examples were found");
}

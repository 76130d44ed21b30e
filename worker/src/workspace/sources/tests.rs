use super::*;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType, Mode, mknodat};

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn open(folder: &tempfile::TempDir) -> Sources {
    open_with(folder, SourceLimits::default())
}

fn open_with(folder: &tempfile::TempDir, limits: SourceLimits) -> Sources {
    Sources::open(&[folder.path().to_owned()], limits).unwrap()
}

fn paths(sources: &Sources) -> Vec<&str> {
    sources.files().iter().map(|file| file.path.as_str()).collect()
}

fn left_out(sources: &Sources) -> Vec<String> {
    sources.left_out().iter().map(ToString::to_string).collect()
}

fn vpath(text: &str) -> VPath {
    VPath::parse(text).unwrap()
}

#[test]
fn s33_files_of_a_folder_are_listed_under_sources_and_read() {
    let folder = folder(&[("b.md", "bee"), ("a/c.txt", "sea"), (".env", "KEY=1"), (".git-x/y", "")]);
    let sources = open(&folder);
    assert_eq!(paths(&sources), ["sources/a/c.txt", "sources/b.md"]);
    assert_eq!(sources.read(&vpath("sources/a/c.txt")).unwrap(), b"sea");
    assert_eq!(sources.find(&vpath("sources/b.md")).unwrap().size, 3);
    for hidden in ["sources/.env", "sources/a", "b.md"] {
        assert!(
            matches!(sources.read(&vpath(hidden)), Err(SourceError::Missing { .. })),
            "{hidden}"
        );
    }
}

#[test]
fn gitignore_counts_only_inside_a_git_repository() {
    let folder = folder(&[(".gitignore", "*.log\n"), ("a.log", ""), ("a.md", "")]);
    assert_eq!(paths(&open(&folder)), ["sources/a.log", "sources/a.md"]);
    fs::create_dir(folder.path().join(".git")).unwrap();
    assert_eq!(paths(&open(&folder)), ["sources/a.md"]);
}

#[test]
fn several_folders_have_one_folder_each_and_the_same_folder_counts_once() {
    let outer = folder(&[("x/docs/a", "1"), ("y/docs/a", "2"), ("notes/b", "3")]);
    let at = |path: &str| outer.path().join(path);
    let sources = Sources::open(
        &[at("x/docs"), at("y/docs"), at("notes"), at("x/../x/docs")],
        SourceLimits::default(),
    );
    let sources = sources.unwrap();
    assert_eq!(
        paths(&sources),
        ["sources/docs-2/a", "sources/docs/a", "sources/notes/b"]
    );
    assert_eq!(sources.read(&vpath("sources/docs-2/a")).unwrap(), b"2");
}

#[test]
fn a_file_may_be_given_in_the_place_of_a_folder() {
    let outer = folder(&[("a.md", "1"), ("b.md", "2"), ("docs/c.md", "3"), (".hidden", "4")]);
    let at = |path: &str| outer.path().join(path);
    let open = |given: &[PathBuf]| Sources::open(given, SourceLimits::default()).unwrap();
    let one = open(&[at("a.md")]);
    assert_eq!(paths(&one), ["sources/a.md"]);
    assert_eq!(one.read(&vpath("sources/a.md")).unwrap(), b"1");
    assert!(matches!(
        one.read(&vpath("sources/b.md")),
        Err(SourceError::Missing { .. })
    ));
    assert_eq!(paths(&open(&[at(".hidden")])), ["sources/.hidden"]);
    let two = open(&[at("docs"), at("b.md")]);
    assert_eq!(paths(&two), ["sources/b.md/b.md", "sources/docs/c.md"]);
    assert_eq!(two.read(&vpath("sources/b.md/b.md")).unwrap(), b"2");
}

#[test]
fn d56_links_and_pipes_are_left_out_and_said_so() {
    let folder = folder(&[("a.md", "")]);
    symlink("/etc/passwd", folder.path().join("passwd")).unwrap();
    symlink("/etc", folder.path().join("etc")).unwrap();
    mknodat(CWD, folder.path().join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let sources = open(&folder);
    assert_eq!(paths(&sources), ["sources/a.md"]);
    assert_eq!(
        left_out(&sources),
        [
            "2 left out, symbolic link: etc, passwd",
            "1 left out, not a regular file: pipe"
        ]
    );
}

#[test]
fn d56_a_file_swapped_for_a_link_after_it_was_found_is_not_followed() {
    let folder = folder(&[("a.md", "fine"), ("d/b.md", "fine"), ("c.md", "fine")]);
    let outside = self::folder(&[("b.md", "secret")]);
    let sources = open(&folder);
    fs::remove_file(folder.path().join("a.md")).unwrap();
    symlink(outside.path().join("b.md"), folder.path().join("a.md")).unwrap();
    fs::remove_dir_all(folder.path().join("d")).unwrap();
    symlink(outside.path(), folder.path().join("d")).unwrap();
    fs::remove_file(folder.path().join("c.md")).unwrap();
    mknodat(CWD, folder.path().join("c.md"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    for path in ["sources/a.md", "sources/d/b.md", "sources/c.md"] {
        assert!(
            matches!(sources.read(&vpath(path)), Err(SourceError::Unreadable { .. })),
            "{path}"
        );
    }
}

#[test]
fn d29_a_file_whose_name_is_not_utf8_is_listed_and_read_by_its_escaped_name() {
    let folder = folder(&[]);
    fs::write(folder.path().join(OsStr::from_bytes(b"caf\xff.txt")), b"\xf0\x28\xff").unwrap();
    let sources = open(&folder);
    assert_eq!(paths(&sources), ["sources/caf%FF.txt"]);
    assert_eq!(sources.files()[0].readable_name.as_deref(), Some("caf\u{fffd}.txt"));
    assert_eq!(sources.read(&vpath("sources/caf%FF.txt")).unwrap(), b"\xf0\x28\xff");
}

#[test]
fn every_bound_of_the_walk_leaves_out_the_rest_and_says_so() {
    let folder = folder(&[("a", "1234"), ("b", "123456"), ("c", "12"), ("d", "12"), ("e", "1")]);
    let limits = SourceLimits {
        files_max: 3,
        total_bytes_max: 7,
        file_bytes_max: 5,
        entries_max: 100,
    };
    let sources = open_with(&folder, limits);
    assert_eq!(paths(&sources), ["sources/a", "sources/c", "sources/e"]);
    assert_eq!(
        left_out(&sources),
        ["1 left out, too large: b", "1 left out, too many bytes in all: d"]
    );

    let sources = open_with(
        &folder,
        SourceLimits {
            files_max: 1,
            ..SourceLimits::default()
        },
    );
    assert_eq!(paths(&sources), ["sources/a"]);
    assert_eq!(left_out(&sources), ["4 left out, too many files: b, c, d, …"]);

    let sources = open_with(
        &folder,
        SourceLimits {
            entries_max: 3,
            ..SourceLimits::default()
        },
    );
    assert_eq!(paths(&sources), ["sources/a", "sources/b"]);
    assert_eq!(sources.left_out()[0].reason, LeftOutReason::NotVisited);
}

#[test]
fn a_path_that_is_too_long_to_name_is_left_out() {
    let deep = format!("{}/{}/{}", "a".repeat(200), "b".repeat(200), "c".repeat(200));
    let folder = folder(&[(&deep, ""), ("ok", "")]);
    let sources = open(&folder);
    assert_eq!(paths(&sources), ["sources/ok"]);
    assert_eq!(left_out(&sources), [format!("1 left out, path too long: {deep}")]);
}

#[test]
fn a_file_that_grew_over_the_limit_is_refused_when_it_is_read() {
    let folder = folder(&[("a", "1234")]);
    let sources = open_with(
        &folder,
        SourceLimits {
            file_bytes_max: 5,
            ..SourceLimits::default()
        },
    );
    fs::write(folder.path().join("a"), "12345").unwrap();
    assert_eq!(sources.read(&vpath("sources/a")).unwrap(), b"12345");
    fs::write(folder.path().join("a"), "123456").unwrap();
    assert!(matches!(
        sources.read(&vpath("sources/a")),
        Err(SourceError::TooLarge { limit: 5, .. })
    ));
}

#[test]
fn a_source_that_is_neither_a_folder_nor_a_file_is_refused_by_name() {
    let folder = folder(&[("a", "")]);
    mknodat(CWD, folder.path().join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    for wrong in ["none", "a/b", "pipe"] {
        let path = folder.path().join(wrong);
        let error = Sources::open(std::slice::from_ref(&path), SourceLimits::default()).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with(&format!("the source {} cannot be read: ", path.display()))
        );
    }
    let many = vec![folder.path().to_owned(); FOLDERS_MAX + 1];
    assert!(matches!(
        Sources::open(&many, SourceLimits::default()),
        Err(SourceError::TooManyFolders { count: 65 })
    ));
}

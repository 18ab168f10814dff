//! The list of errata in code and in `docs/errata.md` are the same, and what it names exists.

use kalmia_theory::{Erratum, errata, errata_of, erratum, registry};

/// Figures of the laboratory that an erratum may name, and the estimate beside the closed forms.
const OTHERS: [&str; 7] = [
    "comparison1",
    "density",
    "comparison10",
    "misspecified",
    "beyond",
    "bounds",
    "sphere_minimum",
];

const PAGE: &str = include_str!("../../../docs/errata.md");

fn row(erratum: &Erratum) -> String {
    let affects: Vec<_> = erratum.affects.iter().map(|name| format!("`{name}`")).collect();
    format!(
        "| {} | {} | {} | {} | {} |",
        erratum.id,
        erratum.effect,
        erratum.subject,
        erratum.decision,
        if affects.is_empty() { "nothing".to_owned() } else { affects.join(", ") }
    )
}

#[test]
fn the_page_has_the_list_of_the_code() {
    let list = PAGE.split_once("## The list").unwrap().1.split_once("## Evidence").unwrap().0;
    let rows: Vec<_> = list.lines().filter(|line| line.starts_with("| E")).collect();
    let expected: Vec<_> = errata().iter().map(row).collect();
    let table = expected.join("\n");
    assert_eq!(rows, expected, "the table of docs/errata.md must be\n{table}");
}

#[test]
fn every_erratum_has_its_number_its_evidence_and_legal_names() {
    let evidence = PAGE.split_once("## Evidence").unwrap().1;
    for (i, erratum) in errata().iter().enumerate() {
        assert_eq!(erratum.id, format!("E{}", i + 1));
        let heading = format!("\n**{}.** ", erratum.id);
        assert_eq!(evidence.matches(&heading).count(), 1, "{}", erratum.id);
        for name in erratum.affects {
            let known = registry().iter().any(|entry| entry.name == *name);
            assert!(known || OTHERS.contains(name), "{}: {name}", erratum.id);
        }
    }
    let paragraphs = evidence.lines().filter(|line| line.starts_with("**E")).count();
    assert_eq!(paragraphs, errata().len());
}

#[test]
fn errata_are_found_by_id_and_by_what_they_concern() {
    assert!(erratum("E28").unwrap().decision.contains("lambda"));
    assert!(erratum("E0").is_none() && erratum("e28").is_none());
    let ids: Vec<_> = errata_of("result_linear").map(|erratum| erratum.id).collect();
    assert_eq!(ids, ["E11", "E12", "E17"]);
    // A closed form with two variants differs because of an erratum.
    for entry in registry().iter().filter(|entry| entry.has_variants()) {
        assert!(errata_of(entry.name).next().is_some(), "{}", entry.name);
    }
}

/// The changelog counts the closed forms and names those with a correction.
#[test]
fn the_changelog_counts_the_closed_forms() {
    let log = include_str!("../../../CHANGELOG.md");
    assert!(log.contains(&format!("{} closed forms of the paper", registry().len())));
    let corrected: Vec<_> =
        registry().iter().filter(|entry| entry.has_variants()).map(|entry| entry.name).collect();
    let listed = [
        "localized_linear",
        "certificate",
        "coro_convergence_tau",
        "result_logistic",
        "result_linear",
        "resultHsu",
        "tau_delta_linear",
        "tau_order",
    ];
    assert_eq!(corrected, listed);
}

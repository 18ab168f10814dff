//! Idempotency keys: a request that is repeated is answered as at first, and learned once.

use crate::harness::Folder;
use crate::server::{Server, flights, late, unlabelled, with_model};
use serde_json::{Value, json};

const LEARN: &str = "/v1/models/late/learn";

/// The answer as it is repeated.
fn repeated(answer: &Value) -> Value {
    let mut answer = answer.clone();
    assert_eq!(answer["duplicate"], false, "{answer}");
    answer["duplicate"] = json!(true);
    answer
}

#[test]
fn a_repeated_request_gets_the_first_answer_also_after_a_crash() {
    let folder = Folder::new("serve-keys");
    let mut server = with_model(&folder, "");
    let predict = format!("{LEARN}?predict=1");
    let extra = json!([{"hour": 5, "dist": 6, "carrier": "AA", "late": 0, "colour": "red"}]);
    let requests =
        [(LEARN, "a", flights(1, 30)), (&predict, "b", flights(2, 10)), (LEARN, "c", extra)];
    let first = requests.each_ref().map(|(path, key, body)| server.post_key(path, key, body).ok());
    assert_eq!(first[1]["predictions"].as_array().unwrap().len(), 10);
    assert_eq!(first[2]["ignored"], json!(["colour"]));
    let bytes = server.snapshot("late");
    for round in 0..4 {
        for ((path, key, body), first) in requests.iter().zip(&first) {
            let again = server.post_key(path, key, body).ok();
            assert_eq!(again, repeated(first), "round {round}, key {key}");
        }
        assert_eq!(server.snapshot("late"), bytes);
        if round % 2 == 0 {
            server.kill();
        } else {
            assert!(server.stop().success());
        }
        server = Server::start(&folder, "");
    }
}

#[test]
fn a_refused_request_stays_refused() {
    let folder = Folder::new("serve-keys-refused");
    let server = with_model(&folder, "");
    server.learn("late", &flights(1, 30));
    let mut wrong = flights(2, 3);
    wrong[1]["late"] = json!(4);
    let first = server.post_key(LEARN, "w", &wrong);
    let error = first.refused(422, "refused");
    assert_eq!((&error["row"], &error["column"]), (&json!(2), &json!("late")));
    let bytes = server.snapshot("late");
    assert_eq!(server.post_key(LEARN, "w", &wrong).bytes, first.bytes);
    server.kill();
    let server = Server::start(&folder, "");
    assert_eq!(server.snapshot("late"), bytes);
    assert_eq!(server.post_key(LEARN, "w", &wrong).bytes, first.bytes);
    assert!(server.stop().success());
    let server = Server::start(&folder, "");
    assert_eq!(server.post_key(LEARN, "w", &wrong).bytes, first.bytes);
    assert_eq!(server.snapshot("late"), bytes);
    // a body that cannot be read is no request: its key is free
    let bad = json!([{"hour": "x", "dist": 1, "carrier": "AA", "late": 1}]);
    server.post_key(LEARN, "free", &bad).refused(422, "bad_row");
    assert_eq!(server.post_key(LEARN, "free", &flights(3, 1)).ok()["duplicate"], false);
}

#[test]
fn a_key_stands_for_one_request() {
    let folder = Folder::new("serve-keys-other");
    let server = with_model(&folder, "");
    let rows = flights(1, 4);
    let first = server.post_key(LEARN, "k", &rows).ok();
    let reused = |answer: crate::server::Answer| answer.refused(422, "key_reused");
    reused(server.post_key(LEARN, "k", &flights(2, 4)));
    reused(server.post_key(&format!("{LEARN}?predict=1"), "k", &rows));
    // another model has keys of its own
    server.put("/v1/models/other", &late()).ok();
    assert_eq!(server.post_key("/v1/models/other/learn", "k", &rows).ok(), first);
    // labels and rows do not mix
    let mut asked = unlabelled(&flights(3, 1));
    asked[0]["id"] = json!("a");
    server.predict("late", &asked);
    let label = json!([{"id": "a", "y": 1}]);
    reused(server.post_key("/v1/models/late/label", "k", &label));
    let labelled = server.post_key("/v1/models/late/label", "l", &label).ok();
    let again = server.post_key("/v1/models/late/label", "l", &label).ok();
    assert_eq!(again, repeated(&labelled), "the row is used up, the answer is there");
    reused(server.post_key(LEARN, "l", &rows));
    assert_eq!(server.model("late")["rows"], 5);
    server.kill();
    let server = Server::start(&folder, "");
    reused(server.post_key(LEARN, "k", &flights(2, 4)));
    let again = server.post_key("/v1/models/late/label", "l", &label).ok();
    assert_eq!(again, repeated(&labelled));
}

#[test]
fn keys_that_are_none_are_refused() {
    let folder = Folder::new("serve-keys-bad");
    let server = with_model(&folder, "");
    let long = "k".repeat(201);
    for key in ["", " ", &long] {
        server.post_key(LEARN, key, &flights(1, 1)).refused(400, "bad_request");
    }
    server.post_key(LEARN, &long[1..], &flights(1, 1)).ok();
}

#[test]
fn of_two_large_requests_with_a_key_one_is_learned() {
    let folder = Folder::new("serve-keys-large");
    let server = with_model(&folder, "");
    server.learn("late", &flights(1, 10));
    let large = flights(2, 20_000);
    let send = || server.post_key(&format!("{LEARN}?predict=1"), "large", &large);
    let answers = std::thread::scope(|scope| {
        [scope.spawn(send), scope.spawn(send)].map(|thread| thread.join().unwrap())
    });
    // the second is refused while the first is under way, or comes after it
    for answer in &answers {
        if answer.status == 409 {
            answer.refused(409, "under_way");
            assert_eq!(answer.header("retry-after"), Some("1"));
        } else {
            assert_eq!(answer.ok()["sequence"], 2);
        }
    }
    let learned = answers.iter().filter(|a| a.status == 200 && a.json()["duplicate"] == false);
    assert_eq!(learned.count(), 1);
    assert_eq!(server.model("late")["rows"], 20_010);
    assert_eq!(send().ok()["duplicate"], true);
}

#[test]
fn sixty_four_threads_with_a_key_learn_once() {
    let folder = Folder::new("serve-keys-threads");
    let server = with_model(&folder, "");
    server.learn("late", &flights(1, 10));
    let rows = flights(2, 5);
    let send = || loop {
        let answer = server.post_key(LEARN, "one", &rows);
        if answer.status != 409 {
            return answer.ok();
        }
    };
    let answers: Vec<Value> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..64).map(|_| scope.spawn(send)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|answer| answer["sequence"] == 2), "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| answer["duplicate"] == false).count(), 1);
    assert_eq!(server.model("late")["rows"], 15);
}

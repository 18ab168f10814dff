//! Model files that are valid on the outside: the state is changed as JSON, the numbers as
//! numbers, and the checksum is mended.

use serde_json::{Value, json};

use crate::random::Random;

/// Where the checksum stands in a header.
const CHECKSUM: std::ops::Range<usize> = 37..45;

/// What becomes of bytes that are no longer read: one in four gets the checksum that it should
/// have, and the others are replaced by a seed whose state is changed.
pub fn mended_or_forged(random: &mut Random, mut bytes: Vec<u8>, seeds: &[Vec<u8>]) -> Vec<u8> {
    if random.once_in(4) {
        mend(&mut bytes);
        return bytes;
    }
    let seed = random.below(seeds.len());
    forged(random, &seeds[seed])
}

/// Gives bytes that start like a model the checksum that they should have.
fn mend(bytes: &mut [u8]) {
    if bytes.len() < CHECKSUM.end {
        return;
    }
    let mut crc = crc32fast::Hasher::new();
    crc.update(&bytes[..CHECKSUM.start]);
    crc.update(&bytes[CHECKSUM.end..]);
    bytes[CHECKSUM].copy_from_slice(format!("{:08x}", crc.finalize()).as_bytes());
}

/// A model with one to four changes of its state or its numbers.
fn forged(random: &mut Random, model: &[u8]) -> Vec<u8> {
    let (header, data) = split(model);
    let mut header: Value = serde_json::from_slice(header).expect("a seed is valid");
    let mut data = data.to_vec();
    let texts = &mut header["__metadata__"];
    let state = texts["state"].as_str().expect("a seed has a state");
    let mut state: Value = serde_json::from_str(state).expect("a seed is valid");
    for _ in 0..1 + random.below(4) {
        if random.once_in(4) && data.len() >= 8 {
            let at = random.below(data.len() / 8) * 8;
            data[at..at + 8].copy_from_slice(&number(random).to_le_bytes());
        } else {
            change(random, &mut state);
        }
    }
    texts["state"] = state.to_string().into();
    // the entry with the checksum must come first
    let metadata = header["__metadata__"].to_string();
    let tensors = header.as_object().expect("a header is an object").iter();
    let tensors = tensors.filter(|(name, _)| *name != "__metadata__");
    let rest: String = tensors.map(|(name, info)| format!(",{}:{info}", json!(name))).collect();
    let mut header = format!("{{\"__metadata__\":{metadata}{rest}}}").into_bytes();
    header.resize(header.len().next_multiple_of(8), b' ');
    let mut out = (header.len() as u64).to_le_bytes().to_vec();
    out.extend(header);
    out.extend(data);
    mend(&mut out);
    out
}

fn split(model: &[u8]) -> (&[u8], &[u8]) {
    let (length, rest) = model.split_at(8);
    let length = u64::from_le_bytes(length.try_into().expect("8 bytes"));
    rest.split_at(length as usize)
}

/// A number at which code breaks.
fn number(random: &mut Random) -> f64 {
    let odd = [f64::NAN, f64::INFINITY, 0.0, -0.0, -1.0, 1e308, -1e308, 1e-308, 5e-324, 1e120, 2.0];
    odd[random.below(odd.len())]
}

/// Removes, retypes, resizes or swaps something in the state.
fn change(random: &mut Random, state: &mut Value) {
    let count = nodes(state);
    let other = node(state, &mut random.below(count)).map(|value| value.clone());
    let mut at = 1 + random.below(count.max(2) - 1);
    let Some(found) = node(state, &mut at) else { return };
    match (random.below(6), found) {
        (0, found) => *found = other.unwrap_or_default(),
        (1, Value::Array(items)) => {
            let keep = random.below(items.len() + 1);
            items.truncate(keep);
        }
        (2, Value::Array(items)) => {
            let item = random.pick(items).cloned().unwrap_or_default();
            items.push(item);
        }
        (1 | 2, Value::Object(fields)) => {
            let name = fields.keys().nth(random.below(fields.len())).cloned();
            name.and_then(|name| fields.remove(&name));
        }
        (3, Value::Array(items)) if items.len() > 1 => {
            let last = items.len() - 1;
            items.swap(0, last);
        }
        (_, Value::Bool(truth)) => *truth = !*truth,
        (_, found) => *found = odd(random),
    }
}

/// A value that may not fit.
fn odd(random: &mut Random) -> Value {
    let values = [
        Value::Null,
        json!(0),
        json!(1),
        json!(-1),
        json!(2),
        json!(3),
        json!(7),
        json!(u64::MAX),
        json!(u32::MAX),
        json!(1e308),
        json!(-0.5),
        json!(1e-300),
        json!(""),
        json!("x"),
        json!("dense"),
        json!("factored"),
        json!([]),
        json!({}),
        json!(true),
    ];
    values[random.below(values.len())].clone()
}

fn nodes(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(nodes).sum(),
        Value::Object(fields) => fields.values().map(nodes).sum::<usize>(),
        _ => 0,
    }
}

/// The node of this number, counted from the root.
fn node<'a>(value: &'a mut Value, at: &mut usize) -> Option<&'a mut Value> {
    if *at == 0 {
        return Some(value);
    }
    *at -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| node(item, at)),
        Value::Object(fields) => fields.values_mut().find_map(|field| node(field, at)),
        _ => None,
    }
}

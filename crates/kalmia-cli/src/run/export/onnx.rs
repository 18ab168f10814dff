//! A model as an ONNX graph: `x` (rows x features, without the intercept) to `linear` and `mean`,
//! both at the posterior mean of the coefficients.

use super::Link;
use super::proto::Message;
use kalmia::{AnyFamily, Learner};
use kalmia_data::Meaning;
use kalmia_model::Model;

/// `TensorProto.DataType.DOUBLE`.
const DOUBLE: u64 = 11;
/// Versions of the file format and the operators: old enough for every runtime in use.
const IR_VERSION: u64 = 8;
const OPSET: u64 = 13;

/// The bytes of the file. Its metadata names the features in the order of the columns of `x`.
pub fn encode(model: &Model, version: &str) -> Vec<u8> {
    let mut bias = 0.0;
    let mut names = Vec::new();
    let mut weights = Vec::new();
    for (feature, &coefficient) in model.encoder.features().iter().zip(model.learner.coefficients())
    {
        if feature.meaning == Meaning::Intercept {
            bias += coefficient;
        } else {
            names.push(feature.name.clone());
            weights.push(coefficient);
        }
    }
    let family = model.family();
    let link = Link::of(&family);
    let activation = match link {
        Link::Identity => "Identity",
        Link::Logit => "Sigmoid",
        Link::Log => "Exp",
    };
    let mut nodes = vec![
        node("MatMul", &["x", "coefficients"], "product"),
        node("Add", &["product", "intercept"], "linear"),
    ];
    let mut tensors = vec![
        tensor("coefficients", &[weights.len() as u64, 1], &weights),
        tensor("intercept", &[1], &[bias]),
    ];
    match trials(&family) {
        None => nodes.push(node(activation, &["linear"], "mean")),
        Some(trials) => {
            nodes.extend([
                node(activation, &["linear"], "probability"),
                node("Mul", &["probability", "trials"], "mean"),
            ]);
            tensors.push(tensor("trials", &[1], &[trials as f64]));
        }
    }
    let graph = Message::default()
        .messages(1, nodes)
        .text(2, "kalmia")
        .messages(5, tensors)
        .message(11, value("x", weights.len() as u64))
        .message(12, value("linear", 1))
        .message(12, value("mean", 1));
    let features = serde_json::Value::from(names).to_string();
    let target = model.encoder.target().map_or("", |target| &target.name);
    Message::default()
        .int(1, IR_VERSION)
        .text(2, "kalmia")
        .text(3, version)
        .message(7, graph)
        .message(8, Message::default().text(1, "").int(2, OPSET))
        .messages(
            14,
            [("features", &*features), ("link", link.name()), ("target", target)]
                .map(|(k, v)| Message::default().text(1, k).text(2, v)),
        )
        .into_bytes()
}

/// The number by which a probability becomes the mean of a count.
fn trials(family: &AnyFamily) -> Option<u64> {
    if let AnyFamily::Binomial(binomial) = family { binomial.trials() } else { None }
}

/// `NodeProto`.
fn node(operator: &str, inputs: &[&str], output: &str) -> Message {
    let message = inputs.iter().fold(Message::default(), |message, input| message.text(1, input));
    message.text(2, output).text(3, output).text(4, operator)
}

/// `TensorProto`, the numbers as raw little-endian bytes.
fn tensor(name: &str, shape: &[u64], values: &[f64]) -> Message {
    let message = shape.iter().fold(Message::default(), |message, &length| message.int(1, length));
    let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    message.int(2, DOUBLE).text(8, name).bytes(9, &raw)
}

/// `ValueInfoProto` of a matrix with any number of rows.
fn value(name: &str, columns: u64) -> Message {
    let rows = Message::default().text(2, "rows");
    let shape = Message::default().message(1, rows).message(1, Message::default().int(1, columns));
    let kind = Message::default().message(1, Message::default().int(1, DOUBLE).message(2, shape));
    Message::default().text(1, name).message(2, kind)
}

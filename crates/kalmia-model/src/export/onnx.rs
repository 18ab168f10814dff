//! Models as an ONNX graph: `x` (rows x features, without the intercept) to `linear` and `mean`,
//! both at the posterior mean of the coefficients.

use super::proto::Message;
use super::{ExportOptions, Link};
use crate::error::{Error, Result};
use crate::model::{ClassModel, Model, QuantileModel};
use kalmia::{AnyFamily, AnyLearner, Learner, Ordinal};
use kalmia_data::{Encoder, Meaning};
use serde_json::Value;
use std::borrow::Cow;

/// `TensorProto.DataType.DOUBLE`.
const DOUBLE: u64 = 11;
/// `TensorProto.DataType.INT64`.
const INT64: u64 = 7;
/// `AttributeProto.AttributeType.INT`.
const INT_ATTRIBUTE: u64 = 2;
/// Versions of the file format and the operators: old enough for every runtime in use.
const IR_VERSION: u64 = 8;
const OPSET: u64 = 13;
/// Added to every class before the shares are taken: no effect, except that classes that are all
/// impossible get equal shares.
const TINY: f64 = 1e-300;

/// The linear predictors of the models: one column per model.
struct Linear {
    names: Vec<String>,
    /// Coefficients, row after row: features x models.
    weights: Vec<f64>,
    bias: Vec<f64>,
}

impl Linear {
    fn new(models: &[Model]) -> Self {
        let columns = models.iter().map(|model| (&model.encoder, model.learner.coefficients()));
        Self::of_columns(columns)
    }

    /// One column per class, in this order; the first is 0.
    fn of_classes(
        model: &ClassModel,
        mut codes: impl Iterator<Item = usize> + Clone,
    ) -> Result<Self> {
        if model.learner.wide().is_some() {
            return Err(Error::NoOnnx);
        }
        let reference = codes.clone().next().unwrap_or(0);
        let columns = codes.by_ref().map(|code| {
            let contrast = model.learner.contrast_table(code, reference)?;
            Ok((&model.encoder, Cow::from(contrast.coefficients)))
        });
        Ok(Self::of_columns(columns.collect::<Result<Vec<_>>>()?))
    }

    /// One column per cutpoint.
    fn of_levels(model: &ClassModel, learner: &Ordinal) -> Self {
        let estimate = learner.estimate();
        let features = model.encoder.features().iter();
        let features = features.filter(|feature| feature.meaning != Meaning::Intercept);
        let names = features.map(|feature| feature.name.clone()).collect();
        let cuts = estimate.cutpoints();
        let slopes = estimate.coefficients().iter();
        let weights = slopes.flat_map(|&slope| std::iter::repeat_n(slope, cuts.len())).collect();
        Self { names, weights, bias: cuts.iter().map(|cut| -cut).collect() }
    }

    fn of_columns<'a>(predictors: impl IntoIterator<Item = (&'a Encoder, Cow<'a, [f64]>)>) -> Self {
        let mut names = Vec::new();
        let mut columns = Vec::new();
        let mut bias = Vec::new();
        for (encoder, coefficients) in predictors {
            names.clear();
            let mut weights = Vec::new();
            let mut constant = 0.0;
            for (feature, &coefficient) in encoder.features().iter().zip(&*coefficients) {
                if feature.meaning == Meaning::Intercept {
                    constant += coefficient;
                } else {
                    names.push(feature.name.clone());
                    weights.push(coefficient);
                }
            }
            columns.push(weights);
            bias.push(constant);
        }
        let rows = 0..names.len();
        let weights = rows.flat_map(|j| columns.iter().map(move |column| column[j])).collect();
        Self { names, weights, bias }
    }
}

/// The bytes of the file. Its metadata names the features in the order of the columns of `x`.
///
/// Several models, one per class, have a column of `linear` and of `mean` each. Their probabilities
/// are renormalized to sum to 1, and the metadata holds the classes.
pub fn onnx(models: &[Model], options: &ExportOptions<'_>) -> Result<Vec<u8>> {
    let Some(first) = models.first() else { return Err(Error::NoModel) };
    if models.iter().any(|model| matches!(model.learner, AnyLearner::Wide(_))) {
        return Err(Error::NoOnnx);
    }
    let family = first.family();
    let link = Link::of(&family);
    let mean = mean_nodes(&family, link, models.len());
    let about = About { link: link.name(), target: first.target(), levels: &[], means: None };
    Ok(file(Linear::new(models), mean, &about, options))
}

/// The bytes of the file of a model of several classes, given by code and label in the order of the
/// columns. `linear` holds the logarithms of the odds against the first class, `mean` the
/// probabilities. For ordered levels `linear` has a column per cutpoint: the logarithm of the odds
/// of a level above it.
pub fn class_onnx(
    model: &ClassModel,
    classes: &[(usize, Value)],
    version: &str,
) -> Result<Vec<u8>> {
    let labels: Vec<Value> = classes.iter().map(|(_, label)| label.clone()).collect();
    let options = ExportOptions { version, classes: &labels, offset: false };
    if let Some(learner) = model.learner.ordinal() {
        let about = About {
            link: "cumulative logit",
            target: model.target(),
            levels: &[],
            means: Some(learner.levels()),
        };
        let linear = Linear::of_levels(model, learner);
        return Ok(file(linear, level_nodes(learner.levels()), &about, &options));
    }
    let mean = (vec![node("Softmax", &["linear"], "mean")], vec![]);
    let linear = Linear::of_classes(model, classes.iter().map(|(code, _)| *code))?;
    let about = About { link: "softmax", target: model.target(), levels: &[], means: None };
    Ok(file(linear, mean, &about, &options))
}

/// The bytes of the file of a model of several quantiles: `linear` holds a column per level, and
/// `mean` the same in ascending order. The metadata holds the levels. With `offset`, or if the
/// model has a column of offsets, the graph has a second input, which is added to the linear
/// predictors.
pub fn quantile_onnx(model: &QuantileModel, version: &str, offset: bool) -> Vec<u8> {
    let levels = model.learner.levels();
    let offset = offset || model.encoder.options().offset.is_some();
    let options = ExportOptions { version, classes: &[], offset };
    let columns =
        model.learner.learners().iter().map(|level| (&model.encoder, level.coefficients()));
    let sorted = (vec![sort_node("linear", "mean")], vec![integer("levels", levels.len() as i64)]);
    let linear = Linear::of_columns(columns);
    let about = About { link: "identity", target: model.target(), levels: &levels, means: None };
    file(linear, sorted, &about, &options)
}

/// What the metadata says beside the features and classes.
struct About<'a> {
    link: &'a str,
    target: &'a str,
    /// Of several quantiles.
    levels: &'a [f64],
    /// Columns of `mean`, if they are not those of `linear`.
    means: Option<usize>,
}

/// The file of linear predictors, with the nodes from `linear` to `mean` and their numbers.
fn file(
    Linear { names, weights, bias }: Linear,
    (mean, constants): (Vec<Message>, Vec<Message>),
    about: &About<'_>,
    options: &ExportOptions<'_>,
) -> Vec<u8> {
    let columns = bias.len() as u64;
    let sum = if options.offset { "sum" } else { "linear" };
    let mut nodes = vec![
        node("MatMul", &["x", "coefficients"], "product"),
        node("Add", &["product", "intercept"], sum),
    ];
    if options.offset {
        nodes.push(node("Add", &["sum", "offset"], "linear"));
    }
    let mut tensors = vec![
        tensor("coefficients", &[names.len() as u64, columns], &weights),
        tensor("intercept", &[columns], &bias),
    ];
    nodes.extend(mean);
    tensors.extend(constants);
    let mut graph = Message::default()
        .messages(1, nodes)
        .text(2, "kalmia")
        .messages(5, tensors)
        .message(11, value("x", names.len() as u64));
    if options.offset {
        graph = graph.message(11, value("offset", 1));
    }
    let means = about.means.map_or(columns, |means| means as u64);
    let graph = graph.message(12, value("linear", columns)).message(12, value("mean", means));
    let features = Value::from(names).to_string();
    let classes = Value::from(options.classes).to_string();
    let levels = Value::from(about.levels).to_string();
    let mut metadata =
        vec![("features", &*features), ("link", about.link), ("target", about.target)];
    if !options.classes.is_empty() {
        metadata.push(("classes", &classes));
    }
    if !about.levels.is_empty() {
        metadata.push(("levels", &levels));
    }
    let file = Message::default()
        .int(1, IR_VERSION)
        .text(2, "kalmia")
        .text(3, options.version)
        .message(7, graph)
        .message(8, Message::default().text(1, "").int(2, OPSET));
    let entry = |(key, text)| Message::default().text(1, key).text(2, text);
    file.messages(14, metadata.into_iter().map(entry)).into_bytes()
}

/// From `linear` to `mean`: the nodes and the numbers that they need.
fn mean_nodes(family: &AnyFamily, link: Link, models: usize) -> (Vec<Message>, Vec<Message>) {
    let activation = match link {
        Link::Identity => "Identity",
        Link::Logit => "Sigmoid",
        Link::Log => "Exp",
    };
    if models > 1 {
        let nodes = vec![
            node(activation, &["linear"], "probability"),
            node("Add", &["probability", "tiny"], "positive"),
            node("ReduceSum", &["positive", "axes"], "total"),
            node("Div", &["positive", "total"], "mean"),
        ];
        return (nodes, vec![tensor("tiny", &[1], &[TINY]), integer("axes", 1)]);
    }
    match trials(family) {
        None => (vec![node(activation, &["linear"], "mean")], vec![]),
        Some(trials) => {
            let nodes = vec![
                node(activation, &["linear"], "probability"),
                node("Mul", &["probability", "trials"], "mean"),
            ];
            (nodes, vec![tensor("trials", &[1], &[trials as f64])])
        }
    }
}

/// From `linear` to `mean` for ordered levels: differences of the probabilities of a level above
/// each cutpoint, of which that below all levels is 1.
fn level_nodes(levels: usize) -> (Vec<Message>, Vec<Message>) {
    let cuts = levels - 1;
    let mut differences = vec![0.0; cuts * levels];
    for cut in 0..cuts {
        differences[cut * levels + cut] = -1.0;
        differences[cut * levels + cut + 1] = 1.0;
    }
    let mut certain = vec![0.0; levels];
    certain[0] = 1.0;
    let nodes = vec![
        node("Sigmoid", &["linear"], "above"),
        node("MatMul", &["above", "differences"], "moved"),
        node("Add", &["moved", "certain"], "mean"),
    ];
    let tensors = vec![
        tensor("differences", &[cuts as u64, levels as u64], &differences),
        tensor("certain", &[levels as u64], &certain),
    ];
    (nodes, tensors)
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

/// `NodeProto` of the operator `TopK` that sorts each row in ascending order: it takes as many
/// numbers as the tensor `levels` says, all of them, the smallest first.
fn sort_node(input: &str, output: &str) -> Message {
    let attribute = |name: &str, value: u64| {
        Message::default().text(1, name).int(3, value).int(20, INT_ATTRIBUTE)
    };
    // the second output, the places, is not used but must be named
    Message::default()
        .text(1, input)
        .text(1, "levels")
        .text(2, output)
        .text(2, "places")
        .text(3, output)
        .text(4, "TopK")
        .message(5, attribute("largest", 0))
        .message(5, attribute("sorted", 1))
}

/// `TensorProto` of one whole number.
fn integer(name: &str, value: i64) -> Message {
    let message = Message::default().int(1, 1).int(2, INT64).text(8, name);
    message.bytes(9, &value.to_le_bytes())
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

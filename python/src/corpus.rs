//! What the steps of `pagesieve.spark` do with Arrow batches: sketches of documents, marks of the templates of their origins, and pairs of those that share
//! a key.
//!
//! Rows of one key or origin follow each other, and may go on in the next batch. What is kept of a key or origin between batches is bounded.

use std::{collections::VecDeque, num::NonZeroU64, sync::Arc};

use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, Float32Array, Int64Array,
    RecordBatch, StringArray, UInt32Array,
    builder::{Int64Builder, ListBuilder},
    cast::AsArray,
    types::Int64Type,
};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType};
use pagesieve::{
    Document, Filter,
    extract::{Extracted, Extractor},
    filter::{Key, Sketch, Template, Thresholds, WindowOptions},
    page::UrlOptions,
    submission::{Payload, Preparation, Submission},
};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};
use pyo3_arrow::PyRecordBatch;

use crate::{
    arrow::Rows,
    input::{Columns, Problem, Reader},
    options,
};

/// So many documents of a key are compared with all later ones of it: the first, whatever they are.
const FIRST: usize = 32;
/// And so many later ones that repeat none of these: the last.
const LATEST: usize = 32;
/// Of pages, whose comparison takes longer, one in so many.
const FEWER_PAGES: usize = 4;
/// A template is learnt from so many pages of an origin at most.
const SAMPLE: usize = 64;
/// So many of them teach it.
const TEMPLATE: usize = 32;

/// Does what is asked for with batches of one partition, in order.
#[pyclass(module = "pagesieve")]
#[derive(Debug)]
pub(crate) struct Corpus {
    preparation: Preparation,
    thresholds: Thresholds,
    min_features: u32,
    /// The origin of the last marks, and its template.
    origin: Option<(i64, Template)>,
    /// The key of the last pairs, and its documents with which later ones are compared.
    key: Option<i64>,
    first: Vec<Held>,
    latest: VecDeque<Held>,
}

/// A document with which later ones are compared.
#[derive(Debug)]
struct Held {
    row: u32,
    sketch: Sketch,
    marks: Vec<u8>,
    template: Template,
}

#[derive(Debug, Default)]
struct Pairs {
    earlier: Vec<u32>,
    later: Vec<u32>,
    similarity: Vec<f32>,
    exact: Vec<bool>,
}

#[pymethods]
impl Corpus {
    #[new]
    #[pyo3(signature = (**options))]
    fn new(py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let (mut options, seed) = options::read(py, options)?;
        options.hash_seed = pagesieve::fingerprint::HashSeedChoice::Fixed(seed);
        let thresholds = Thresholds::new(&options);
        let min_features = options.min_features.max(1);
        // Of the filter, only its documents are used.
        options.window = WindowOptions::new(NonZeroU64::MIN, None);
        let documents = Filter::new(&options).map_err(wrong)?.documents().shared();
        let preparation = Preparation::new(Extractor::default(), UrlOptions::default(), documents);
        let (first, latest) = Default::default();
        let (origin, key) = (None, None);
        Ok(Self { preparation, thresholds, min_features, origin, key, first, latest })
    }

    /// The sketch of each row with `id` and `text` or `html`, perhaps `url` and `content_type`: what is compared, the digest by which it is found if it is
    /// equal and the keys by which it is found if it is near, its origin, and why there is none of these.
    fn sketch<'py>(&self, py: Python<'py>, batch: PyRecordBatch) -> PyResult<Bound<'py, PyAny>> {
        let array: ArrayRef = Arc::new(arrow_array::StructArray::from(batch.into_inner()));
        let mut rows = Rows::of(&array, &Columns::default())?;
        let reader = Reader::default();
        let batch = py.detach(|| {
            let mut documents = Vec::with_capacity(array.len());
            while let Some(row) = rows.take(&reader) {
                documents.push(match row {
                    Ok(submission) => Ok(self.document(submission)),
                    Err(Problem::Kind(message) | Problem::Value(message)) => Err(message),
                });
            }
            self.table(documents)
        });
        PyRecordBatch::new(batch.map_err(wrong)?).into_pyarrow(py)
    }

    /// What the templates of their origins say of pages, given with `origin` and `sketch`, in the order of the origins. Those of the last origin may wait for
    /// more, unless there are no more: then fewer marks come back.
    fn marks(
        &mut self,
        py: Python<'_>,
        batch: PyRecordBatch,
        is_last: bool,
    ) -> PyResult<Vec<Vec<u8>>> {
        let batch = batch.into_inner();
        py.detach(|| {
            let origins = integers(&batch, "origin")?;
            let sketches = sketches(&batch)?;
            let mut marks = Vec::with_capacity(sketches.len());
            for pages in origins.values().chunk_by(|a, b| a == b) {
                let of_origin = &sketches[marks.len()..marks.len() + pages.len()];
                if self.origin.as_ref().is_none_or(|(last, _)| *last != pages[0]) {
                    let has_more = marks.len() + pages.len() == sketches.len() && !is_last;
                    if has_more && pages.len() < SAMPLE {
                        break;
                    }
                    self.origin = Some((pages[0], self.template(of_origin)));
                }
                if let Some((_, template)) = &self.origin {
                    marks.extend(of_origin.iter().map(|sketch| template.marks(sketch)));
                }
            }
            Ok(marks)
        })
    }

    /// Which rows repeat an earlier one, given with `key`, `sketch` and `marks`, in the order of the keys. Rows are counted from those on that the last call has
    /// returned to be kept.
    fn pairs<'py>(
        &mut self,
        py: Python<'py>,
        batch: PyRecordBatch,
    ) -> PyResult<(Bound<'py, PyAny>, Vec<u32>)> {
        let batch = batch.into_inner();
        let pairs = py.detach(|| self.find(&batch))?;
        let kept = self.first.iter().chain(&self.latest).map(|held| held.row).collect();
        let columns: [(&str, ArrayRef); 4] = [
            ("a", Arc::new(UInt32Array::from(pairs.earlier))),
            ("b", Arc::new(UInt32Array::from(pairs.later))),
            ("similarity", Arc::new(Float32Array::from(pairs.similarity))),
            ("exact", Arc::new(BooleanArray::from(pairs.exact))),
        ];
        let batch = RecordBatch::try_from_iter(columns).map_err(wrong)?;
        Ok((PyRecordBatch::new(batch).into_pyarrow(py)?, kept))
    }
}

impl Corpus {
    fn document(&self, submission: Submission) -> Document {
        match submission.payload {
            // Its language does not matter, and takes time to be found.
            Payload::Text(text) => {
                let extracted = Extracted { text, ..Extracted::default() };
                self.preparation.documents().extracted("", None, &extracted, None)
            }
            Payload::Html { .. } => self.preparation.prepare(submission, 0).0,
        }
    }

    fn table(&self, documents: Vec<Result<Document, String>>) -> Result<RecordBatch, ArrowError> {
        let mut keys = ListBuilder::new(Int64Builder::new());
        let (mut sketches, mut digests, mut origins, mut errors) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for document in documents {
            let sketch = document.as_ref().ok().map(Document::sketch);
            let of_sketch = sketch.map_or_else(Vec::new, |sketch| self.keys(sketch));
            keys.append_value(of_sketch.into_iter().map(|key| Some(key.cast_signed())));
            digests.push(sketch.and_then(|it| it.body.or(it.text.digest)).map(|it| it.0));
            let origin = sketch.filter(|it| it.is_page()).and_then(Sketch::origin);
            origins.push(origin.map(|it| it.get().cast_signed()));
            sketches.push(sketch.map(|sketch| {
                let is_page = sketch.is_page();
                let sketch = sketch.clone();
                if is_page { sketch.to_bytes() } else { sketch.without_keys().to_bytes() }
            }));
            errors.push(document.err());
        }
        RecordBatch::try_from_iter_with_nullable::<_, &str>([
            (
                "sketch",
                Arc::new(sketches.iter().map(Option::as_deref).collect::<BinaryArray>())
                    as ArrayRef,
                true,
            ),
            ("digest", Arc::new(digests.into_iter().collect::<BinaryArray>()), true),
            ("origin", Arc::new(Int64Array::from(origins)), true),
            ("keys", Arc::new(keys.finish()), true),
            ("error", Arc::new(StringArray::from(errors)), true),
        ])
    }

    /// The keys by which a document is found if it is near.
    fn keys(&self, sketch: &Sketch) -> Vec<u64> {
        let text = &sketch.text;
        let mut keys = Vec::new();
        if sketch.is_page() || text.features >= self.min_features {
            keys.extend(sketch.keys());
        }
        // All documents whose signatures may not differ.
        if !sketch.is_page() && self.thresholds.signature_radius(text.features) == 0 {
            keys.push(Key::of(&text.signature.to_string()).0);
        }
        // A text is found by its digest already.
        if let Some(digest) = text.digest.filter(|_| sketch.body.is_some()) {
            keys.push(Key::of(&digest.to_string()).0);
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// The template of an origin, from its first pages: each teaches it that repeats none of those before it.
    fn template(&self, pages: &[Sketch]) -> Template {
        let mut template = Template::default();
        let mut unique: Vec<&Sketch> = Vec::new();
        for page in pages.iter().take(SAMPLE) {
            let share_keys =
                |other: &Sketch| other.keys().iter().any(|it| page.keys().contains(it));
            let is_repeated = unique.iter().any(|other| {
                let sides = [(page, &template), (other, &template)];
                share_keys(other) && self.thresholds.repeats(sides).is_some()
            });
            if !is_repeated && unique.len() < TEMPLATE {
                template.learn(page);
                unique.push(page);
            }
        }
        template
    }

    fn find(&mut self, batch: &RecordBatch) -> PyResult<Pairs> {
        let keys = integers(batch, "key")?;
        let sketches = sketches(batch)?;
        let marks = column(batch, "marks", &DataType::BinaryView)?;
        let marks: &BinaryViewArray = marks.as_binary_view();
        let mut next = 0;
        for held in self.first.iter_mut().chain(&mut self.latest) {
            held.row = next;
            next += 1;
        }
        let mut pairs = Pairs::default();
        for ((row, sketch), key) in sketches.into_iter().enumerate().zip(keys.values()) {
            if self.key != Some(*key) {
                self.key = Some(*key);
                self.first.clear();
                self.latest.clear();
            }
            let marks = if marks.is_valid(row) { marks.value(row).to_vec() } else { Vec::new() };
            let template = Template::of_marks(&[(&sketch, &marks)]);
            self.add(Held { row: next, sketch, marks, template }, &mut pairs);
            next += 1;
        }
        Ok(pairs)
    }

    /// Compares a document with those of its key, and keeps it for later ones.
    fn add(&mut self, document: Held, pairs: &mut Pairs) {
        let before = pairs.later.len();
        for other in self.first.iter().chain(&self.latest) {
            let Some(found) = document.repeats(other, &self.thresholds) else { continue };
            pairs.earlier.push(other.row);
            pairs.later.push(document.row);
            pairs.similarity.push(found.similarity);
            pairs.exact.push(found.kind == pagesieve::filter::Kind::Exact);
        }
        let share = if document.sketch.is_page() { FEWER_PAGES } else { 1 };
        if self.first.len() < FIRST / share {
            self.first.push(document);
        } else if pairs.later.len() == before {
            if self.latest.len() == LATEST / share {
                self.latest.pop_front();
            }
            self.latest.push_back(document);
        }
    }
}

impl Held {
    fn repeats(&self, other: &Self, thresholds: &Thresholds) -> Option<pagesieve::filter::Match> {
        let origin = self.sketch.origin();
        if self.sketch.is_page() && origin.is_some() && origin == other.sketch.origin() {
            let both = [(&self.sketch, &*self.marks), (&other.sketch, &*other.marks)];
            let template = Template::of_marks(&both);
            let sides = [(&self.sketch, &template), (&other.sketch, &template)];
            return thresholds.repeats(sides);
        }
        let sides = [(&self.sketch, &self.template), (&other.sketch, &other.template)];
        thresholds.repeats(sides)
    }
}

fn column(batch: &RecordBatch, name: &str, kind: &DataType) -> PyResult<ArrayRef> {
    let column = batch.column_by_name(name);
    let column = column.ok_or_else(|| PyValueError::new_err(format!("no column `{name}`")))?;
    cast(column, kind).map_err(wrong)
}

fn integers(batch: &RecordBatch, name: &str) -> PyResult<Int64Array> {
    Ok(column(batch, name, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
}

fn sketches(batch: &RecordBatch) -> PyResult<Vec<Sketch>> {
    let column = column(batch, "sketch", &DataType::BinaryView)?;
    let all = column.as_binary_view().iter();
    let all = all.map(|bytes| bytes.and_then(Sketch::from_bytes));
    all.collect::<Option<_>>().ok_or_else(|| {
        PyValueError::new_err("a sketch cannot be read: it is damaged, or of another version")
    })
}

fn wrong(error: impl std::error::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

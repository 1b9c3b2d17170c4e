//! Rows of data on standard output: JSON lines, or CSV (RFC 4180) with a header.

use serde::Serialize;

use super::{Failure, Out, Result, write_line};

/// Writes rows of one kind.
pub(super) enum Rows<'a> {
    Json(&'a mut Out),
    Csv(Box<csv::Writer<&'a mut Out>>),
}

impl<'a> Rows<'a> {
    /// The header of CSV is written at once, so that an output without rows has one too.
    pub(super) fn new(out: &'a mut Out, csv: bool, header: &[&str]) -> Result<Self> {
        if !csv {
            return Ok(Self::Json(out));
        }
        let mut csv = csv::WriterBuilder::new().has_headers(false).from_writer(out);
        csv.write_record(header).map_err(failed)?;
        Ok(Self::Csv(Box::new(csv)))
    }

    /// Writes a row, whose fields are those of the header.
    pub(super) fn write(&mut self, row: &impl Serialize) -> Result<()> {
        match self {
            Self::Json(out) => write_line(*out, row),
            Self::Csv(csv) => csv.serialize(row).map_err(failed),
        }
    }

    /// Hands over what is buffered.
    pub(super) fn finish(self) -> Result<()> {
        match self {
            Self::Json(_) => Ok(()),
            Self::Csv(mut csv) => csv.flush().map_err(Failure::Output),
        }
    }
}

fn failed(error: csv::Error) -> Failure {
    Failure::Output(error.into())
}

//! The filter whose window ends with the process.

use std::{collections::VecDeque, io::Write};

use bytesize::ByteSize;

use super::{Failure, Job, MUCH, Out, Result};
use crate::{
    cli::{
        Exit,
        document::{in_chunks, preparation, recipe},
        notify, write_line,
    },
    config::Config,
    filter::Filter,
    index::Audit,
    input::{Documents, InputError, Prepared},
    page::DocId,
};

pub(super) fn run(
    config: &Config,
    input: Documents,
    mut job: Job,
    out: &mut Out,
) -> Result<(Exit, Audit)> {
    let mut filter = Filter::of_recipe(&config.dedup.filter(), recipe(config))?;
    let preparation = preparation(config, filter.documents());
    // The ids of the documents in the window.
    let mut ids = Ids::default();
    let mut answer = |item: Result<Prepared, InputError>, out: &mut Out| {
        let document = match item {
            Ok(document) => document,
            Err(error) => return write_line(out, &error.answer()),
        };
        if let Some(found) = job.find_against(&document)? {
            return write_line(out, &found.line(&document));
        }
        let judgement = filter.judge(&document.document);
        ids.expire(filter.oldest());
        if judgement.verdict.is_unique() {
            ids.push(judgement.id, document.document.id());
            job.keep(&document)?;
        }
        let of = judgement.verdict.matched().and_then(|found| ids.get(found.of));
        write_line(out, &document.line(&judgement, of))
    };
    let exit = in_chunks(
        input,
        |input| preparation.prepare(input),
        |items| {
            items.into_iter().try_for_each(|item| answer(item, out))?;
            out.flush().map_err(Failure::Output)
        },
    )?;
    if let Some(kept) = &mut job.kept {
        kept.sync()?;
    }
    if filter.articles_size() >= MUCH {
        let size = ByteSize(filter.articles_size() as u64).display().iec();
        notify(format_args!(
            "{size} of memory were used to compare the articles of pages; --state keeps them in a file"
        ));
    }
    Ok((exit, filter.audit()))
}

/// The ids of unique documents, oldest first, in blocks: a block is one allocation for many.
#[derive(Default)]
struct Ids(VecDeque<IdBlock>);

#[derive(Default)]
struct IdBlock {
    numbers: Vec<DocId>,
    /// Where each id ends in the text.
    ends: Vec<usize>,
    text: String,
}

impl Ids {
    const BLOCK: usize = 1024;

    /// Numbers grow from call to call.
    fn push(&mut self, number: DocId, id: &str) {
        if let Some(last) = self.0.back_mut().filter(|last| last.numbers.len() == Self::BLOCK) {
            last.text.shrink_to_fit();
        }
        if self.0.back().is_none_or(|last| last.numbers.len() == Self::BLOCK) {
            self.0.push_back(IdBlock::default());
        }
        let block = self.0.back_mut().expect("there is one");
        block.text.push_str(id);
        block.numbers.push(number);
        block.ends.push(block.text.len());
    }

    fn get(&self, number: DocId) -> Option<&str> {
        let after = self.0.partition_point(|block| block.numbers[0] <= number);
        let block = &self.0[after.checked_sub(1)?];
        let place = block.numbers.binary_search(&number).ok()?;
        let start = place.checked_sub(1).map_or(0, |before| block.ends[before]);
        Some(&block.text[start..block.ends[place]])
    }

    /// Drops blocks in which all are older.
    fn expire(&mut self, oldest: DocId) {
        let is_past = |block: &mut IdBlock| block.numbers.last().is_some_and(|last| *last < oldest);
        while self.0.pop_front_if(is_past).is_some() {}
    }
}

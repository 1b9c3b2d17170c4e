"""A step of datatrove that drops near duplicates while documents stream through it.

    pip install datatrove orjson regex
    python datatrove_filter.py input/ output/     # folders of JSON lines with "id" and "text"

Each task has a window of its own, so one task finds most. With a folder for windows, a later run also drops what repeats an
earlier run's documents.
"""

import sys
from os import makedirs
from os.path import join

from datatrove.data import Document, DocumentsPipeline
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.filters.base_filter import BaseFilter
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter

from pagesieve import Filter


class NearDuplicates(BaseFilter):
    name = "pagesieve"

    def __init__(self, windows: str | None = None, exclusion_writer=None, **options):
        super().__init__(exclusion_writer, batch_size=1024)
        self.windows, self.options = windows, options

    def run(self, data: DocumentsPipeline, rank: int = 0, world_size: int = 1) -> DocumentsPipeline:
        path = None
        if self.windows:
            makedirs(self.windows, exist_ok=True)
            path = join(self.windows, f"{rank:05}.sqlite")
        # Steps are sent to other processes, filters cannot be.
        with Filter(path, **self.options) as self.seen:
            yield from super().run(data, rank, world_size)
        del self.seen

    def filter_batch(self, batch: list[Document]) -> list[bool | tuple[bool, str]]:
        decisions = self.seen.judge_many((document.id, document.text) for document in batch)
        return [decision.is_unique or (False, decision.verdict) for decision in decisions]

    def filter(self, document: Document) -> bool | tuple[bool, str]:
        return self.filter_batch([document])[0]


if __name__ == "__main__":
    source, target = sys.argv[1:3]
    dropped = JsonlWriter(join(target, "dropped"), compression=None)
    steps = [
        JsonlReader(source),
        NearDuplicates(join(target, "windows"), dropped),
        JsonlWriter(join(target, "kept"), compression=None),
    ]
    LocalPipelineExecutor(steps, tasks=1, logging_dir=join(target, "logs")).run()

def run(batch): return batch

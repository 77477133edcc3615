def run(batch): return []

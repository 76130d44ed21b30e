"""Prints the medians of each peer's results as a Markdown table, with Legwork's ratio to each."""
import json, statistics, sys

rows = {}
for line in open(sys.argv[1]):
    result = json.loads(line)
    rows.setdefault(result["peer"], []).append(result)
COLUMNS = [("jobs_per_s", "jobs/s"), ("graphs_per_s", "graphs/s"), ("dispatch_p50_ms", "dispatch p50 ms"),
           ("dispatch_p99_ms", "p99 ms"), ("release_p50_ms", "release p50 ms"), ("rss_worker_mb", "worker MB")]


def median(results, key):
    values = [result[key] for result in results if result.get(key) is not None]
    return statistics.median(values) if values else None


def shown(value): return "–" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


print("| peer | version | durability | " + " | ".join(title for _, title in COLUMNS) + " |")
print("|---|---|---|" + "---|" * len(COLUMNS))
for peer, results in rows.items():
    first = results[0]
    cells = [shown(median(results, key)) for key, _ in COLUMNS]
    print(f"| {peer} | {first['version']} | {first['durability']} | " + " | ".join(cells) + " |")
is_ours = lambda peer: peer.split("[")[0] == "legwork"
ours = next((results for peer, results in rows.items() if is_ours(peer)), [])
for peer, results in rows.items():
    if is_ours(peer) or not ours: continue
    for key, title in COLUMNS[:2]:
        a, b = median(ours, key), median(results, key)
        if a and b: print(f"\nLegwork / {peer}, {title}: {a / b:.1f} ×")

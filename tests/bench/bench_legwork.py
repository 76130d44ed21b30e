"""Legwork: a worker process that embeds the library with a runner that only marks, and a client process that submits.
Needs the release build of `bench-peer`; BENCH_BIN names it. Variants: `redis`, whose jobs come 500 to a run, as peers add
500 with one call; `redis-runs`, with a run for each job; none is a file, with a run for each job."""
import os, subprocess, sys
from common import DIR, REDIS, Peer, main, redis_flush, redis_pid

BIN = os.environ.get("BENCH_BIN", "target/release/bench-peer")
FILE = DIR + "/legwork/legwork.db"
VARIANT = sys.argv[sys.argv.index("--variant") + 1] if "--variant" in sys.argv else ""
ON_REDIS = VARIANT.startswith("redis")
STORE = REDIS if ON_REDIS else FILE


class P(Peer):
    name = "legwork"
    version = subprocess.run([BIN, "version"], capture_output=True, text=True).stdout.strip()
    durability = "Redis AOF everysec" if ON_REDIS else "SQLite, WAL, synchronous=FULL"
    concurrency = "1 process, 200 slots"
    if ON_REDIS: server_pids = staticmethod(redis_pid)

    def reset(self):
        # Artifacts lie beside the file, on Redis too.
        subprocess.run(["rm", "-rf", os.path.dirname(FILE)], check=True)
        os.makedirs(os.path.dirname(FILE))
        if ON_REDIS: redis_flush()

    def workers(self): return [[BIN, "worker", STORE]]

    def ready(self):
        self.client = subprocess.Popen([BIN, "client", STORE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        self.client.stdin.write(line + "\n"); self.client.stdin.flush()
        answer = self.client.stdout.readline().strip()
        if answer != "ok": sys.exit(f"the client answered {answer!r} to {line!r}")

    def job(self, i): self.ask(f"job {i}")
    def jobs(self, n): self.ask(f"jobs {n}" if VARIANT == "redis" else f"runs {n}")
    def graph(self, g): self.ask(f"graph {g}")
    def graphs(self, m): self.ask(f"graphs {m}")
    def stop(self): self.client.stdin.close(); self.client.wait(5)


if __name__ == "__main__":
    main(P())

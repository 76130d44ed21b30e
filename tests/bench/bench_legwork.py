"""Legwork on SQLite: a worker process that embeds the library with a runner that only marks, and a client process that
submits. Needs the release build of `bench-peer`; BENCH_BIN names it."""
import os, subprocess, sys
from common import DIR, Peer, main

BIN = os.environ.get("BENCH_BIN", "target/release/bench-peer")
STORE = DIR + "/legwork/legwork.db"


class P(Peer):
    name = "legwork"
    version = subprocess.run([BIN, "version"], capture_output=True, text=True).stdout.strip()
    durability = "SQLite, WAL, synchronous=FULL"
    concurrency = "1 process, 200 slots"

    def reset(self):
        subprocess.run(["rm", "-rf", os.path.dirname(STORE)], check=True)
        os.makedirs(os.path.dirname(STORE))

    def workers(self): return [[BIN, "worker", STORE]]

    def ready(self):
        self.client = subprocess.Popen([BIN, "client", STORE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        self.client.stdin.write(line + "\n"); self.client.stdin.flush()
        answer = self.client.stdout.readline().strip()
        if answer != "ok": sys.exit(f"the client answered {answer!r} to {line!r}")

    def job(self, i): self.ask(f"job {i}")
    def jobs(self, n): self.ask(f"jobs {n}")
    def graph(self, g): self.ask(f"graph {g}")
    def graphs(self, m): self.ask(f"graphs {m}")
    def stop(self): self.client.stdin.close(); self.client.wait(5)


if __name__ == "__main__":
    main(P())

import { readdirSync, readFileSync } from "node:fs";
import { type GatewayFigures, type ListenAddress, listenAt } from "../../gateway/server.ts";
import { ok, type Result } from "../../src/base/result.ts";
import { type Family, prometheusText, type Sample } from "../../src/metrics/family.ts";

/** The sources of the metrics. */
export interface MetricsSource {
  figures(): GatewayFigures;
  /** Process ids by the name on the page. */
  readonly processes: () => Readonly<Record<string, number | "self" | undefined>>;
}

/** A running server of the metrics page. */
export interface MetricsPage {
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * Answers `GET /metrics` about the gateway and the processes without a token, so only Prometheus may reach the address. The error is a
 * system error code such as EADDRINUSE.
 */
export async function serveMetrics(listen: ListenAddress, source: MetricsSource): Promise<Result<MetricsPage, string>> {
  // Imported here because the module takes 14 MiB of memory, which a gateway without the page does not need.
  const { createServer } = await import("node:http");
  const server = createServer((request, response) => {
    const found = request.method === "GET" && request.url === "/metrics";
    response.writeHead(found ? 200 : 404, { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" });
    response.end(found ? metricsText(source) : "");
  });
  const bound = await listenAt(server, listen);
  if (!bound.ok) return bound;
  return ok({
    port: bound.value,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}

export function metricsText({ figures, processes }: MetricsSource): string {
  const { connections, requests, bodyBytes, answerBytes, refusals } = figures();
  const used = Object.entries(processes()).flatMap(([name, pid]) => {
    const figures = pid === undefined ? null : processFigures(pid);
    return figures ? [{ labels: { process: name }, figures }] : [];
  });
  const ofEach = (figure: keyof ProcessFigures): Sample[] =>
    used.map(({ labels, figures }) => ({ labels, value: figures[figure] }));
  const refused = [...refusals].map(([status, count]) => ({ labels: { status: String(status) }, value: count }));
  const family = (type: Family["type"], name: string, help: string, samples: readonly Sample[] | number): Family => {
    return { name, help, type, samples: typeof samples === "number" ? [{ value: samples }] : samples };
  };
  return prometheusText([
    family("gauge", "grove_gateway_connections", "Connections of clients.", connections),
    family("gauge", "grove_gateway_requests", "Requests with the service, and waiting for it.", requests),
    family("gauge", "grove_gateway_body_bytes", "Room that bodies on their way take.", bodyBytes),
    family("gauge", "grove_gateway_answer_bytes", "Room that answers take which clients have not read.", answerBytes),
    family("counter", "grove_gateway_refusals_total", "Requests that the gateway answered itself.", refused),
    family("counter", "grove_process_cpu_seconds_total", "CPU time of a process.", ofEach("cpuSeconds")),
    family("gauge", "grove_process_resident_memory_bytes", "Memory of a process.", ofEach("residentBytes")),
    family("gauge", "grove_process_open_fds", "Open files and connections of a process.", ofEach("openFiles")),
  ]);
}

/** CPU, memory and files of a process. */
export interface ProcessFigures {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly openFiles: number;
}

/** Clock ticks a second in /proc, on every Linux that Node supports. */
const TICKS = 100;
const PAGE_BYTES = 4096;

/** The figures of a process from /proc; null on other systems, and for a process that has ended. */
export function processFigures(pid: number | "self"): ProcessFigures | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may have blanks and parentheses.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return {
      cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS,
      residentBytes: Number(fields[21]) * PAGE_BYTES,
      openFiles: readdirSync(`/proc/${pid}/fd`).length,
    };
  } catch {
    return null;
  }
}

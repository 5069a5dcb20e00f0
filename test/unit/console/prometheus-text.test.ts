import { describe, expect, it } from "vitest";
import { latenciesOf, ratesOf, readMetrics, sampleOf } from "../../../console/health/prometheus-text.ts";

function page(seconds: number, fast: number, slow: number): string {
  return `# TYPE grove_http_request_duration_seconds histogram
grove_http_request_duration_seconds_bucket{route="a",operation="read",status="200",le="0.01"} ${fast}
grove_http_request_duration_seconds_bucket{route="a",operation="read",status="200",le="0.1"} ${fast + slow}
grove_http_request_duration_seconds_bucket{route="a",operation="read",status="200",le="+Inf"} ${fast + slow}
grove_http_request_duration_seconds_count{route="a",operation="read",status="200"} ${fast + slow}
grove_http_request_duration_seconds_count{route="b",operation="read",status="200"} ${seconds}
grove_logins_total{mount="auth/a\\"b/",role="r",result="refused"} 3
grove_logins_total{mount="auth/c/",role="r",result="refused"} 4
grove_snapshot_age_seconds 0.741
`;
}
const sample = (seconds: number, fast: number, slow: number) =>
  sampleOf(readMetrics(page(seconds, fast, slow)), seconds * 1000);

describe("charts of the console", () => {
  it("read the text format, with labels that hold quotes, and add up what has one label in common", () => {
    const { requests, logins, snapshotAge, tidyAge } = sample(10, 90, 10);
    expect([requests, logins.get("refused"), snapshotAge, tidyAge]).toEqual([110, 7, 0.741, null]);
    expect(readMetrics('x{mount="auth/a\\"b/"} 1')[0]?.labels).toEqual({ mount: 'auth/a\\"b/' });
  });

  it("show how fast a count grew, and nothing where it fell, as another isolate answered", () => {
    const samples = [sample(10, 0, 0), sample(12, 18, 0), sample(14, 2, 0)];
    expect(ratesOf(samples, ({ requests }) => requests)).toEqual([
      { at: 12_000, value: 10 },
      { at: 14_000, value: null },
    ]);
  });

  it("tell below which time a share of the requests of an interval stayed", () => {
    const samples = [sample(10, 1000, 1000), sample(12, 1080, 1020)];
    expect(latenciesOf(samples, 0.4)).toEqual([{ at: 12_000, value: 5 }]);
    expect(latenciesOf(samples, 0.9)[0]?.value).toBeCloseTo(55);
    expect(latenciesOf([sample(10, 1, 1), sample(12, 1, 1)], 0.5)).toEqual([{ at: 12_000, value: null }]);
  });
});

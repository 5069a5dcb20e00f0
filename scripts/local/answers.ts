import { type RequestOptions, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

const RETRY_MS = 100;

/** Resolves to true when a server gives any HTTP answer, to false when it ends or does not within the time. */
export async function waitUntilAnswers(
  place: Pick<RequestOptions, "host" | "port" | "socketPath">,
  ended: Promise<unknown>,
  limitMs: number,
): Promise<boolean> {
  let over = false;
  void ended.then(() => {
    over = true;
  });
  const limit = performance.now() + limitMs;
  while (!over && performance.now() < limit) {
    if (await answers(place)) return true;
    await pause(RETRY_MS);
  }
  return false;
}

function answers(place: Pick<RequestOptions, "host" | "port" | "socketPath">): Promise<boolean> {
  return new Promise((resolve) => {
    const attempt = request({ ...place, path: "/v1/sys/health", agent: false, timeout: 5_000 }, (response) => {
      response.resume();
      resolve(true);
    });
    attempt.on("timeout", () => attempt.destroy());
    attempt.on("error", () => resolve(false));
    attempt.end();
  });
}

/** Why a server answers every request with 503, in its own words; undefined when it does not. */
export function refusalOfAll(socketPath: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const asked = request(
      { socketPath, path: "/v1/auth/token/lookup-self", agent: false, timeout: 5_000 },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (piece: string) => {
          text += piece;
        });
        response.on("end", () => {
          if (response.statusCode !== 503) return resolve(undefined);
          resolve(firstError(text));
        });
      },
    );
    asked.on("timeout", () => asked.destroy());
    asked.on("error", () => resolve(undefined));
    asked.end();
  });
}

function firstError(text: string): string | undefined {
  try {
    return (JSON.parse(text) as { readonly errors?: readonly string[] }).errors?.[0];
  } catch {
    return undefined;
  }
}

import { createExecutionContext } from "cloudflare:test";
import { GroveClient, type Send } from "../../scripts/grove/client.ts";
import worker from "../../src/index.ts";
import { bindings } from "./service.ts";

export const INIT_TOKEN = "the-init-token-of-this-deployment";

const deployed = { ...bindings, GROVE_INIT_TOKEN: INIT_TOKEN };

/** Sends requests to the Worker as a deployment with an init token. */
export const send: Send = async ({ method, path, token, body }) => {
  const headers = token === "" ? {} : { "X-Vault-Token": token };
  const content = body === undefined ? null : JSON.stringify(body);
  const request = new Request(`http://grove.test${path}`, { method, headers, body: content });
  const response = await worker.fetch(request, deployed, createExecutionContext());
  return {
    status: response.status,
    retryAfter: response.headers.get("Retry-After"),
    text: await response.text(),
  };
};

/** A client that has this token, and waits for nothing. */
export function clientWith(token: string, how: Send = send): GroveClient {
  return new GroveClient("http://grove.test", token, { send: how, wait: async () => {} });
}

/** Sends what a program does that ends at its first write: before it is sent, or after it was made, without its answer. */
export function endingAtFirstWrite(when: "before" | "after"): Send {
  let hasEnded = false;
  return async (request) => {
    const isWrite = request.method === "POST";
    if (!hasEnded && !(isWrite && when === "before")) {
      const answer = await send(request);
      if (!isWrite) return answer;
    }
    hasEnded = true;
    throw new Error("the program ended here");
  };
}

import type { Browser } from "playwright-core";
import { expect } from "vitest";
import { openPage, startBrowser, type WatchedPage } from "./browser.ts";
import { signIn } from "./console-page.ts";
import { call, type RunningServer, startServe } from "./server.ts";

/** A server of its own, and a page of its console that is signed in with the root token. */
export interface OpenedConsole extends WatchedPage {
  readonly server: RunningServer;
  readonly browser: Browser;
  /** Sends a request to a path below `/v1/`; with the root token unless another one is given. */
  send(method: string, path: string, body?: unknown, token?: string): ReturnType<typeof call>;
  /** The data of an answer to the root token, which has to be a success. */
  data<T>(method: string, path: string, body?: unknown): Promise<T>;
  /** Ends the browser and the server. */
  close(): Promise<void>;
}

/** @param executable the browser's; undefined where the tests are skipped */
export async function openConsole(executable: string | undefined): Promise<OpenedConsole> {
  const server = await startServe();
  const send: OpenedConsole["send"] = (method, path, body, token = server.rootToken) =>
    call(server, method, `/v1/${path}`, { token, body });
  const data = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await send(method, path, body);
    expect(answer.status, path).toBeLessThan(300);
    return answer.body.data as T;
  };
  let browser: Browser | undefined;
  const close = async (): Promise<void> => {
    await browser?.close();
    await server.stop();
  };
  try {
    browser = await startBrowser(executable ?? "");
    const watched = await openPage(browser);
    await signIn(watched.page, server, server.rootToken);
    return { ...watched, server, browser, send, data, close };
  } catch (error) {
    await close();
    throw error;
  }
}

import type { ProviderAnswer } from "./oidc-callback.ts";

/** The channel between the tab that waits for a login and the tab of the identity provider. */
const CHANNEL = "grove-login";
/** How long a tab that a provider opened waits for the tab that began the login (ms). */
const PATIENCE_MS = 1000;

/** Offers a provider's answer to the other tabs. Resolves to true when one of them began the login. */
export function offerAnswer(answer: ProviderAnswer): Promise<boolean> {
  return new Promise((resolve) => {
    const channel = new BroadcastChannel(CHANNEL);
    const end = (isTaken: boolean): void => {
      window.clearTimeout(timer);
      channel.close();
      resolve(isTaken);
    };
    const timer = window.setTimeout(() => end(false), PATIENCE_MS);
    channel.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (answer.state !== undefined && textsOf(data).taken === answer.state) end(true);
    };
    channel.postMessage(answer);
  });
}

/** Waits for the answer to a login that this tab began. Returns a function that stops waiting. */
export function awaitAnswer(state: string, onAnswer: (answer: ProviderAnswer) => void): () => void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = ({ data }: MessageEvent<unknown>) => {
    const answer = textsOf(data);
    if (answer.state !== state) return;
    channel.postMessage({ taken: state });
    channel.close();
    onAnswer(answer);
  };
  return () => channel.close();
}

/** The string members of a message. */
function textsOf(data: unknown): ProviderAnswer {
  if (typeof data !== "object" || data === null) return {};
  return Object.fromEntries(Object.entries(data).filter(([, value]) => typeof value === "string"));
}

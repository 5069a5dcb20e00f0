import { isAnswered, readBegun } from "./begun-login.ts";
import { boundedText } from "./provider-error.ts";

/** The parameters of a provider's answer that are sent to the server. */
export type ProviderAnswer = Readonly<Record<string, string>>;

/** The return from an identity provider: with the answer to this tab's login, or to another one. */
export type Arrival =
  | {
      readonly isExpected: true;
      readonly place: string;
      readonly mount: string;
      readonly fields: ProviderAnswer;
      /** The provider's error text; "" for none. It is trusted because its sender knew the state of the login. */
      readonly providerMessage: string;
    }
  | { readonly isExpected: false; readonly place: string; readonly answer: ProviderAnswer };

/** The path to which the provider returns, as in the reference's console. */
const CALLBACK = /^\/ui\/vault\/auth\/(.+)\/oidc\/callback$/;
/** Parameters that are passed to the server (RFC 6749, RFC 9207). Others are ignored, since anybody can make a link. */
const PASSED_ON = ["state", "code", "iss", "error"] as const;

/**
 * Reads the URL of the page. Null when no provider opened the page.
 *
 * @param kept the stored login of the tab; null for none
 */
export function readArrival(
  { pathname, search }: Pick<URL, "pathname" | "search">,
  kept: string | null,
): Arrival | null {
  if (!CALLBACK.test(pathname)) return null;
  const begun = readBegun(kept);
  const given = new URLSearchParams(search);
  const answer = Object.fromEntries(
    PASSED_ON.flatMap((name) => {
      const value = given.get(name);
      return value === null ? [] : [[name, value] as const];
    }),
  );
  const isExpected = begun !== null && isAnswered(begun, answer.state, pathname);
  if (!isExpected) return { isExpected, place: "/ui/", answer };
  const { mount, place, clientNonce } = begun;
  const providerMessage = answer.error === undefined ? "" : boundedText(given.get("error_description") ?? "");
  return { isExpected, place, mount, fields: { ...answer, client_nonce: clientNonce }, providerMessage };
}

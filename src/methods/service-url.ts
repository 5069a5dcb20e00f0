import { OUTBOUND_PROBLEMS, outboundProblem, type PrivateHosts } from "../base/outbound-hosts.ts";

const MAX_LENGTH = 2048;

/** Returns why requests may not be sent to a URL, as a phrase without it, or null. */
export function urlProblem(url: string, listed: PrivateHosts): string | null {
  const parsed = url.length <= MAX_LENGTH && URL.canParse(url) ? new URL(url) : null;
  if (!parsed || !/^https?:$/.test(parsed.protocol)) return "must be an https URL";
  if (parsed.username || parsed.password || parsed.hash) return "must not have a user or a fragment";
  const problem = outboundProblem(parsed, listed);
  return problem && OUTBOUND_PROBLEMS[problem];
}

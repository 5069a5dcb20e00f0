import { OUTBOUND_PROBLEMS, outboundProblem, type PrivateHosts, privateHosts } from "../base/outbound-hosts.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { EndpointEnv } from "./env.ts";

/** Allowed targets of revocations, from the settings of operators. */
export interface EndpointSettings {
  /** Host names; `*.` and a name allow all subdomains. Empty: any public host. */
  readonly hosts: readonly string[];
  readonly services: readonly string[];
  /** Hosts that are allowed besides public ones, also without TLS. */
  readonly privateHosts: PrivateHosts;
}

const MAX_TARGET = 2048;
const SERVICE = /^service:\/\/([A-Za-z_][A-Za-z0-9_]*)(\/[A-Za-z0-9_.~/-]*)?$/;

/** Reads the settings of this deployment. */
export function endpointSettings(env: EndpointEnv): EndpointSettings {
  return {
    hosts: names(env.LEASE_TARGET_HOSTS).map((host) => host.toLowerCase()),
    services: names(env.LEASE_SERVICES),
    privateHosts: privateHosts(env),
  };
}

/**
 * Parses the target of a revocation: an https URL, or `service://BINDING/path`. The host must be public or in
 * `privateHosts`, and in `hosts` unless that is empty. Returns the normalized target, or a message that does not repeat
 * the input.
 */
export function readRevocationEndpoint(text: string, settings: EndpointSettings): Result<string, string> {
  if (text === "") return err("target must be specified");
  if (text.length > MAX_TARGET) return err("target is too long");
  const service = SERVICE.exec(text);
  if (service) {
    if (!settings.services.includes(service[1] ?? ""))
      return err("target names a service binding that is not in LEASE_SERVICES");
    return ok(text);
  }
  const url = URL.parse(text);
  const problem = url && outboundProblem(url, settings.privateHosts);
  if (!url || problem === "scheme") {
    return err("target must be an https URL, or service:// and the name of a service binding");
  }
  if (url.username !== "" || url.password !== "" || url.hash !== "") {
    return err("target must be a URL without credentials and without a fragment");
  }
  const host = url.hostname.replace(/\.$/, "").toLowerCase();
  if (problem === "host") return err(`target ${OUTBOUND_PROBLEMS.host}`);
  if (settings.hosts.length > 0 && !settings.hosts.some((allowed) => hostMatches(allowed, host))) {
    return err("target is not one of the hosts in LEASE_TARGET_HOSTS");
  }
  return ok(url.href);
}

/** Returns the part of a target that determines the signing key: the origin of a URL, or the service. */
export function endpointOrigin(target: string): string {
  const service = SERVICE.exec(target);
  return service ? `service://${service[1]}` : new URL(target).origin;
}

/** Returns the part of a target that people know it by: the host and port of a URL, or the service. */
export function endpointHost(target: string): string {
  const service = serviceBindingOf(target);
  return service ? `service://${service.name}` : new URL(target).host;
}

/** The binding and the path of a `service://` target; null for a URL. */
export function serviceBindingOf(target: string): { readonly name: string; readonly path: string } | null {
  const service = SERVICE.exec(target);
  return service && { name: service[1] ?? "", path: service[2] ?? "/" };
}

function hostMatches(allowed: string, host: string): boolean {
  return allowed.startsWith("*.") ? host.endsWith(allowed.slice(1)) : host === allowed;
}

function names(list: string | undefined): string[] {
  return (list ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

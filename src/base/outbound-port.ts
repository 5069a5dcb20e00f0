import { connect } from "cloudflare:sockets";
import { LATE, type Ms, orLate } from "./clock.ts";

const LIMIT_MS: Ms = 3_000;

/**
 * True when the host accepts a TCP connection at the port within 3 s. Nothing is sent. Call it only for a host that
 * requests may be sent to (`outboundProblem`) and for a caller who may configure that host: otherwise it is a port
 * scan.
 */
export async function takesConnections(hostname: string, port: number): Promise<boolean> {
  const socket = connect({ hostname, port });
  try {
    return (await orLate(socket.opened, LIMIT_MS)) !== LATE;
  } catch {
    return false;
  } finally {
    await socket.close().catch(() => undefined);
  }
}

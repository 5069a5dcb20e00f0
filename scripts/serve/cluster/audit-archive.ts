import { createServer, type IncomingMessage } from "node:http";
import { err, ok, type Result } from "../../../src/base/result.ts";
import type { ClusterBucket } from "./bucket.ts";

/** Socket in the data directory. Only the server's user can open it. */
export const ARCHIVE_SOCKET = "audit.sock";

/** Keys are those of `src/audit/directory/archive.ts`. Nothing else can be written, and no segment is `.` or `..`. */
const KEY = /^[\da-f-]{36}\/audit\/[\w-]{1,40}\/\w[\w.:-]{0,59}$/;
/** The largest body of a PUT. A page of the archive is far smaller. */
const MAX_BYTES = 64 * 1024 * 1024;

/** The service that writes the archive of the audit store into the bucket of the cluster. */
export interface ArchiveService {
  stop(): void;
}

/** Listens at `socket` for PUT requests of the Worker, whose paths are the keys. The error is for the operator. */
export async function startArchive(socket: string, bucket: ClusterBucket): Promise<Result<ArchiveService, string>> {
  const server = createServer(async (request, response) => {
    const written = await write(bucket, request).catch((error) => err(String(error)));
    response.writeHead(written.ok ? 204 : 502).end(written.ok ? undefined : written.error);
  });
  const problem = await new Promise<string | undefined>((resolve) => {
    server.once("error", (error) => resolve(error.message));
    server.listen(socket, () => resolve(undefined));
  });
  if (problem !== undefined) return err(`the socket of the archive can't be used: ${problem}`);
  return ok({
    stop() {
      server.close();
      server.closeAllConnections();
    },
  });
}

async function write(bucket: ClusterBucket, request: IncomingMessage): Promise<Result<void, string>> {
  const key = decodeURIComponent((request.url ?? "").slice(1));
  if (request.method !== "PUT" || !KEY.test(key)) return err("no key of the archive");
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request) {
    bytes += piece.length;
    if (bytes > MAX_BYTES) return err("the text is too long");
    pieces.push(piece);
  }
  const put = await bucket.put(`archive/${key}`, Buffer.concat(pieces).toString("utf8"), "none");
  return put.ok ? ok(undefined) : err(put.error.message);
}

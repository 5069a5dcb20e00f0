import { createServer, type IncomingMessage } from "node:http";
import { dirname, join } from "node:path";
import { err, ok, type Result } from "../../src/base/result.ts";
import { writeDurably } from "../local/durable-files.ts";
import { makeDirectory } from "../local/make-directory.ts";
import type { ClusterBucket } from "./cluster/bucket.ts";

/** Socket in the data directory. Only the server's user can open it. */
export const ARCHIVE_SOCKET = "audit.sock";

/** Keys are those of `src/audit/directory/archive.ts`. Nothing else can be written, and no segment is `.` or `..`. */
const KEY = /^[\da-f-]{36}\/audit\/[\w-]{1,40}\/\w[\w.:-]{0,59}$/;
/** The largest body of a PUT. A page of the archive is far smaller. */
const MAX_BYTES = 64 * 1024 * 1024;

/** The file that is being written, in the directory of the archive. No key has this name. */
const UNFINISHED = "unfinished";

/** Stores a text durably under a key, in place of an earlier one. */
type Put = (key: string, text: string) => Promise<Result<unknown, string>>;

/** The archive in the bucket of a cluster. */
export function archiveInBucket(bucket: ClusterBucket): Put {
  return async (key, text) => {
    const put = await bucket.put(`archive/${key}`, text, "none");
    return put.ok ? ok(null) : err(put.error.message);
  };
}

/** The archive in files below a directory. */
export function archiveInFiles(directory: string): Put {
  return async (key, text) => {
    const file = join(directory, key);
    makeDirectory(dirname(file));
    // The records are deleted from the store after the answer.
    // verify-audit-archive.js reads every file in the directory of the key, also one that a crash left behind.
    writeDurably(file, text, join(directory, UNFINISHED));
    return ok(null);
  };
}

/** The service that writes the archive of the audit store. */
export interface ArchiveService {
  stop(): void;
}

/** Listens at `socket` for PUT requests of the Worker, whose paths are the keys. The error is for the operator. */
export async function startArchive(socket: string, put: Put): Promise<Result<ArchiveService, string>> {
  const server = createServer(async (request, response) => {
    const written = await write(put, request).catch((error) => err(String(error)));
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

async function write(put: Put, request: IncomingMessage): Promise<Result<unknown, string>> {
  const key = decodeURIComponent((request.url ?? "").slice(1));
  if (request.method !== "PUT" || !KEY.test(key)) return err("no key of the archive");
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request) {
    bytes += piece.length;
    if (bytes > MAX_BYTES) return err("the text is too long");
    pieces.push(piece);
  }
  return put(key, Buffer.concat(pieces).toString("utf8"));
}

import type { Socket } from "node:net";

/** Up to here copying is cheaper than what Node needs to write two things at once. */
const MAX_JOINED_BYTES = 8 * 1024;

/**
 * Writes a head and what follows it in one system call.
 *
 * @param head latin1
 * @returns false when the other end has to take some of it before more is written
 */
export function writeMessage(socket: Socket, head: string, body: Buffer): boolean {
  if (body.length === 0) return socket.write(head, "latin1");
  if (body.length <= MAX_JOINED_BYTES) return socket.write(head + body.toString("latin1"), "latin1");
  socket.cork();
  socket.write(head, "latin1");
  const room = socket.write(body);
  socket.uncork();
  return room;
}

/** As `writeMessage`, with a body in pieces. */
export function writePieces(socket: Socket, head: string, pieces: readonly Buffer[]): void {
  const [only] = pieces;
  if (only !== undefined && pieces.length === 1) {
    writeMessage(socket, head, only);
    return;
  }
  socket.cork();
  socket.write(head, "latin1");
  for (const piece of pieces) socket.write(piece);
  socket.uncork();
}

/** Resolves when the socket takes more, or is closed. */
export function drained(socket: Socket): Promise<void> {
  if (!socket.writableNeedDrain) return Promise.resolve();
  return new Promise((resolve) => {
    const settle = (): void => {
      socket.off("drain", settle);
      socket.off("close", settle);
      resolve();
    };
    socket.on("drain", settle);
    socket.on("close", settle);
  });
}

import type { Socket } from "node:net";

/** Up to here copying is cheaper than what Node needs to write two things at once. */
const MAX_JOINED_BYTES = 8 * 1024;

/**
 * Writes a head and what follows it in one system call.
 *
 * @param head latin1
 */
export function writeMessage(socket: Socket, head: string, body: Buffer): void {
  if (body.length <= MAX_JOINED_BYTES) {
    socket.write(head + body.toString("latin1"), "latin1");
    return;
  }
  socket.cork();
  socket.write(head, "latin1");
  socket.write(body);
  socket.uncork();
}

/** Resolves when the system has taken all that was written, or the socket is closed. */
export function flushed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.writableLength === 0 || socket.destroyed) resolve();
    else socket.write("", () => resolve());
  });
}

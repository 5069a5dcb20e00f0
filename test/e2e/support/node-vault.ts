/** The status that a call of node-vault was answered with; 200 when it succeeded. */
export async function statusOf(call: Promise<unknown>): Promise<number> {
  try {
    await call;
    return 200;
  } catch (error) {
    return (error as { response: { statusCode: number } }).response.statusCode;
  }
}

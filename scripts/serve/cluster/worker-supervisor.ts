import type { Child } from "../../local/child.ts";

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
/** After workerd ran this long, the count of failures starts again (ms). */
const STABLE_MS = 60_000;
/** Time to end after SIGTERM (ms): more than workerd's `stopTimeoutMs`, in which it hands over its objects. */
const STOP_MS = 9_000;

/** The parts that a `WorkerSupervisor` uses. */
export interface Keeping {
  /** Starts workerd. */
  readonly start: () => Child;
  /** Resolves to true when workerd answers, to false when it ends first or takes too long. */
  readonly answers: (ended: Promise<unknown>) => Promise<boolean>;
  /** The last error that workerd reported before it ended; "" without one. */
  readonly lastError: () => string;
  /** Resolves after a pause (ms). */
  readonly pause: (ms: number) => Promise<void>;
  readonly say: (line: string) => void;
}

/** Called with the reason when requests can't be served, and without one when they can. */
export type OnChange = (problem: string | undefined) => void;

/** The workerd of a node: started again whenever it ends, until the node stops. */
export class WorkerSupervisor {
  /** Resolves when the node has stopped. */
  readonly ended: Promise<string>;
  readonly #up = Promise.withResolvers<void>();
  readonly #keeping: Keeping;
  readonly #stopAsked = Promise.withResolvers<void>();
  #child: Child | undefined;
  #isStopping = false;
  #problem: string | undefined = "this node starts";
  #onChange: OnChange = () => {};

  constructor(keeping: Keeping) {
    this.#keeping = keeping;
    this.ended = this.#run();
  }

  /** Resolves when workerd answers for the first time. */
  get up(): Promise<void> {
    return this.#up.promise;
  }

  /** Process id of the current workerd. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** True while workerd answers and the node does not stop. */
  get isUp(): boolean {
    return this.#problem === undefined && !this.#isStopping;
  }

  /** Calls `onChange` with the current state, and at each change. */
  follow(onChange: OnChange): void {
    this.#onChange = onChange;
    onChange(this.#problem);
  }

  /** Makes workerd hand over its objects to the other nodes. It serves for some more seconds, and ends. */
  handOver(): void {
    this.#isStopping = true;
    this.#stopAsked.resolve();
    this.#child?.signal("SIGTERM");
  }

  /** Ends workerd at once, and starts it again. */
  restart(): void {
    this.#child?.kill();
  }

  /** Ends workerd, after the hand-over if it is under way. */
  async stop(): Promise<void> {
    if (!this.#isStopping) this.handOver();
    const force = setTimeout(() => this.kill(), STOP_MS);
    await this.ended;
    clearTimeout(force);
  }

  kill(): void {
    this.#isStopping = true;
    this.#stopAsked.resolve();
    this.#child?.kill();
  }

  async #run(): Promise<string> {
    const { start, answers, lastError, pause, say } = this.#keeping;
    for (let failures = 0; ; ) {
      const began = performance.now();
      const child = start();
      this.#child = child;
      if (await answers(child.ended)) this.#change(undefined);
      else child.kill();
      const end = await child.ended;
      this.#change("this node's engine ended and starts again");
      if (this.#isStopping) return end;
      failures = performance.now() - began > STABLE_MS ? 1 : failures + 1;
      const pauseMs = pauseAfter(failures);
      const error = lastError();
      say(
        `workerd ended (${end}${error && `: ${error}`}); this node serves nothing; workerd is started again in ${pauseMs / 1000} s`,
      );
      await Promise.race([pause(pauseMs), this.#stopAsked.promise]);
      if (this.#isStopping) return end;
    }
  }

  #change(problem: string | undefined): void {
    this.#problem = problem;
    if (problem === undefined) this.#up.resolve();
    this.#onChange(problem);
  }
}

/** The pause after this number of consecutive failures (ms). */
export function pauseAfter(failures: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), MAX_PAUSE_MS);
}

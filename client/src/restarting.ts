// Decides when to restart a server that crashed, and when to give up.

const PERIOD_MILLISECONDS = 3 * 60 * 1000;
const FIRST_WAIT_MILLISECONDS = 500;
const MOST_CRASHES = 5;

/** The crashes of a server within the last few minutes. */
export class Crashes {
  #times: number[] = [];

  /**
   * Records a crash.
   *
   * @param now - the time in milliseconds
   * @returns how long to wait before the next start; undefined if it has crashed too often
   */
  another(now: number): number | undefined {
    this.#times = [...this.#times.filter((time) => now - time < PERIOD_MILLISECONDS), now];
    const count = this.#times.length;
    return count > MOST_CRASHES ? undefined : FIRST_WAIT_MILLISECONDS * 2 ** (count - 1);
  }
}

// A time limit for everything that other code may never finish.

/** Returns the value of a promise, or undefined if it fails or takes longer than this. */
export async function within<T>(milliseconds: number, promise: PromiseLike<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => {
      resolve(undefined);
    }, milliseconds);
  });
  try {
    return await Promise.race([promise, limit]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

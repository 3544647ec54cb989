import type { Logger } from 'pino';

/** `close` closes everything that is kept, in the reverse order, and logs each at the level debug, so that one that hangs can be found. */
export const createOpened = (logger: Pick<Logger, 'debug'>) => {
  const stack = new AsyncDisposableStack();
  return {
    keep: <T extends { readonly close: () => Promise<unknown> }>(name: string, opened: T): T =>
      stack.adopt(opened, async ({ close }) => {
        await close();
        logger.debug({ closed: name }, 'closed');
      }),
    close: () => stack.disposeAsync(),
  };
};

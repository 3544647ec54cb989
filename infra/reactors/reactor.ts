export type Running = { readonly close: () => Promise<void> };

/** A background task. Every `work` process starts it, with the services that it needs. */
export type Reactor<Services> = {
  /** The name of its lock or of its stored position, if it has one. */
  readonly name: string;
  /** Whether the settings ask for it. If absent, they always do. */
  readonly isWanted?: (services: Services) => boolean;
  readonly start: (services: Services) => Running;
};

/** `close` waits until all have ended. */
export const startReactors = <Services>(reactors: readonly Reactor<Services>[], services: Services): Running => {
  const wanted = reactors.filter(({ isWanted = () => true }) => isWanted(services));
  const running = wanted.map(({ start }) => start(services));
  return { close: async () => void (await Promise.all(running.map(({ close }) => close()))) };
};

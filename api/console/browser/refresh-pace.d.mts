export const createRefreshPace: () => {
  readonly onRefresh: () => void;
  readonly onRefreshed: () => void;
  readonly hurry: () => void;
  readonly age: () => number;
  readonly delay: (wait?: number) => number;
};
export const isLater: (token: string, than: string) => boolean;
export const secondsText: (ms: number) => string;

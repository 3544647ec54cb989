export const createRefreshPace: (max?: number) => {
  readonly onChange: (isFirst: boolean) => void;
  readonly onRefresh: () => void;
  readonly hurry: () => void;
  readonly age: () => number;
  readonly delay: (wait?: number) => number;
};

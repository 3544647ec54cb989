import ts from 'typescript-5';

/** A change of a source text: the text from `start` to `end` is replaced by `to`. */
export type Change = { readonly start: number; readonly end: number; readonly to: string };

const { SyntaxKind: Kind } = ts;

const OPERATORS: Readonly<Partial<Record<ts.SyntaxKind, string>>> = {
  [Kind.EqualsEqualsEqualsToken]: '!==',
  [Kind.ExclamationEqualsEqualsToken]: '===',
  [Kind.LessThanToken]: '<=',
  [Kind.LessThanEqualsToken]: '<',
  [Kind.GreaterThanToken]: '>=',
  [Kind.GreaterThanEqualsToken]: '>',
  [Kind.AmpersandAmpersandToken]: '||',
  [Kind.BarBarToken]: '&&',
  [Kind.PlusToken]: '-',
  [Kind.MinusToken]: '+',
  [Kind.AsteriskToken]: '/',
  [Kind.SlashToken]: '*',
  [Kind.PercentToken]: '*',
  [Kind.PlusEqualsToken]: '-=',
  [Kind.MinusEqualsToken]: '+=',
};

const EQUALITIES: readonly ts.SyntaxKind[] = [Kind.EqualsEqualsEqualsToken, Kind.ExclamationEqualsEqualsToken];

const replace = (node: ts.Node, to: string): Change => ({ start: node.getStart(), end: node.end, to });

const comparedString = (node: ts.Expression): Change[] =>
  ts.isStringLiteral(node) ? [replace(node, node.text === '' ? "'other'" : "''")] : [];

const changesOfOperator = ({ left, operatorToken, right }: ts.BinaryExpression): Change[] => {
  if (operatorToken.kind === Kind.QuestionQuestionToken) return [{ start: left.end, end: right.end, to: '!' }];
  const to = OPERATORS[operatorToken.kind];
  const strings = EQUALITIES.includes(operatorToken.kind) ? [left, right].flatMap(comparedString) : [];
  return to === undefined ? strings : [replace(operatorToken, to), ...strings];
};

const changesOfCondition = (condition: ts.Expression): Change[] => ['true', 'false'].map((to) => replace(condition, to));

const changesOfNumber = (node: ts.NumericLiteral): Change[] => {
  const isName = ts.isPropertyAssignment(node.parent) && node.parent.name === node;
  return isName ? [] : [replace(node, String(Number(node.text) + 1))];
};

/** A call that follows `?.` needs no dot when the question mark is gone. */
const withoutQuestionMark = (node: ts.PropertyAccessExpression | ts.ElementAccessExpression | ts.CallExpression): Change[] =>
  node.questionDotToken ? [replace(node.questionDotToken, ts.isPropertyAccessExpression(node) ? '!.' : '!')] : [];

/** Returns the changes at a node itself, without those at its parts. */
export const changesAt = (node: ts.Node): Change[] => {
  if (ts.isBinaryExpression(node)) return changesOfOperator(node);
  if (ts.isIfStatement(node)) return changesOfCondition(node.expression);
  if (ts.isConditionalExpression(node)) return changesOfCondition(node.condition);
  if (ts.isThrowStatement(node)) return [replace(node, ';')];
  if (ts.isNumericLiteral(node)) return changesOfNumber(node);
  if (node.kind === Kind.TrueKeyword) return [replace(node, 'false')];
  if (node.kind === Kind.FalseKeyword) return [replace(node, 'true')];
  if (ts.isPrefixUnaryExpression(node) && node.operator === Kind.ExclamationToken) return [replace(node, node.operand.getText())];
  if (ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node) || ts.isCallExpression(node))
    return withoutQuestionMark(node);
  return [];
};

/** The methods of a schema whose arguments are texts and examples of the OpenAPI document. */
const DOCUMENTATION = ['meta', 'describe'];

const isDocumentation = (node: ts.Node): node is ts.CallExpression =>
  ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression) && DOCUMENTATION.includes(node.expression.name.text);

/** Returns the parts of a node in which code can change: no types, no imports, no documentation. */
export const partsOf = (node: ts.Node): ts.Node[] => {
  if (isDocumentation(node)) return [node.expression];
  const parts: ts.Node[] = [];
  ts.forEachChild(node, (part) => void parts.push(part));
  return parts.filter(
    (part) => !ts.isTypeNode(part) && !ts.isImportDeclaration(part) && !ts.isTypeAliasDeclaration(part) && !ts.isInterfaceDeclaration(part),
  );
};

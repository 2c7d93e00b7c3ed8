// The games: how the draws of a round become its outcome. Section 18.4.

const range = (n) => Array.from({ length: n }, (_, i) => i);
const list = (line) => line.split(',');

const swap = (a, i, j) => {
  [a[i], a[j]] = [a[j], a[i]];
};

async function drawMany(words, count, bound) {
  const drawn = [];
  for (let t = 0; t < count; t += 1) drawn.push(await words.below(bound));
  return drawn;
}

async function roulette(words) {
  return { pocket: await words.below(38) };
}

async function slots(words, { data }) {
  if (data.get('machine') === 'cascade') return cascade(words, data);
  const reel = list(data.get('reel'));
  const stops = await drawMany(words, Number(data.get('draws')), reel.length);
  return { stops, symbols: stops.map((stop) => reel[stop]) };
}

const ROWS = 3;
const COLUMNS = 5;

async function cascade(words, data) {
  const weights = list(data.get('weights')).map((band) => band.split(':'));
  const bands = weights.flatMap(([symbol, weight]) => Array(Number(weight)).fill(symbol));
  const symbols = weights.map(([symbol]) => symbol);
  const [cluster, most] = [Number(data.get('cluster')), Number(data.get('refills'))];
  let grid = (await drawMany(words, ROWS * COLUMNS, 100)).map((v) => bands[v]);
  const grids = [];
  const wins = [];
  for (let refills = 0; ; refills += 1) {
    const won = winning(grid, symbols, cluster);
    grids.push(grid);
    wins.push(won);
    if (won.length === 0 || refills === most) return { grids, wins };
    grid = fall(grid, new Set(won.map(([symbol]) => symbol)));
    for (const cell of grid.keys()) grid[cell] ??= bands[await words.below(100)];
  }
}

function winning(grid, symbols, cluster) {
  const counts = symbols.map((symbol) => [symbol, grid.filter((cell) => cell === symbol).length]);
  return counts.filter(([, count]) => count >= cluster);
}

/** The grid without some symbols, the others fallen; null on top. */
function fall(grid, gone) {
  const after = Array(grid.length).fill(null);
  for (let column = 0; column < COLUMNS; column += 1) {
    let to = COLUMNS * (ROWS - 1) + column;
    for (let from = to; from >= 0; from -= COLUMNS) {
      if (gone.has(grid[from])) continue;
      after[to] = grid[from];
      to -= COLUMNS;
    }
  }
  return after;
}

async function mines(words, { lines }) {
  const count = Number(lines.get('mines'));
  const a = range(20);
  for (let i = 0; i < count; i += 1) swap(a, i, i + (await words.below(20 - i)));
  return { mines: a.slice(0, count) };
}

async function dicePoker(words) {
  const dice = (await drawMany(words, 10, 6)).map((v) => v + 1);
  return { bot: dice.slice(0, 5), player: dice.slice(5) };
}

async function blackjack(words) {
  const deck = ['d', 'h', 's', 'c'].flatMap((suit) => range(13).map((v) => `${v + 2}${suit}`));
  const a = range(6).flatMap(() => deck);
  for (let i = a.length - 1; i >= 1; i -= 1) swap(a, i, await words.below(i + 1));
  const shoe = a.reverse();
  return { shoe, player: [shoe[0], shoe[2]], dealer: [shoe[1], shoe[3]] };
}

export const GAMES = { roulette, slots, mines, dice_poker: dicePoker, blackjack };

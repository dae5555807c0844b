// Every visible text with its colour against what lies behind it: those under WCAG AA.
() => {
  const parse = (text) => {
    const found = text.match(/[\d.]+/g).map(Number);
    return [found[0], found[1], found[2], found[3] ?? 1];
  };
  const over = (top, low) => [0, 1, 2].map((i) => top[i] * top[3] + low[i] * (1 - top[3])).concat(1);
  const light = (rgb) => {
    const [r, g, b] = rgb.map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (node) => {
    const layers = [];
    for (let one = node; one; one = one.parentElement) layers.push(parse(getComputedStyle(one).backgroundColor));
    return layers.reverse().reduce((low, top) => over(top, low), [255, 255, 255, 1]);
  };
  const wrong = [];
  let checked = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !node.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const style = getComputedStyle(node);
    const box = node.getBoundingClientRect();
    if (box.width < 2 || box.height < 2 || style.clipPath !== "none") continue;
    const back = behind(node);
    const front = over(parse(style.color), back);
    const [a, b] = [light(front.slice(0, 3)), light(back.slice(0, 3))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    checked += 1;
    if (ratio < (isLarge ? 3 : 4.5)) wrong.push(`${ratio.toFixed(2)} ${node.tagName}.${node.className} ${walker.currentNode.data.trim().slice(0, 30)}`);
  }
  return { checked, wrong: [...new Set(wrong)] };
}

-- nvim --headless -c "luafile beside.lua" train.py
-- Two servers on one buffer.  PLACES is JSON: lists of { text, shift, method }; says for each which servers answer.
local PATIENCE = 20000
local places = vim.fn.json_decode(vim.env.PLACES)

local common = dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "common.lua")
local say = common.say

local function names()
  local found = {}
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = 0 })) do
    if client.initialized then
      table.insert(found, client.name)
    end
  end
  table.sort(found)
  return found
end

-- An answer that shows nothing: none, an empty list, a list of completions without any.
local function is_empty(answer)
  if answer == nil or answer == vim.NIL then
    return true
  end
  local items = answer.items or answer.signatures
  return vim.tbl_isempty(answer) or (items ~= nil and #items == 0)
end

local function main()
  vim.lsp.config("jedi", { cmd = { vim.env.JEDI }, filetypes = { "python" }, root_markers = { "pyproject.toml" } })
  vim.lsp.enable("jedi")
  vim.cmd("edit")
  assert(vim.wait(PATIENCE, function() return #names() == 2 end, 20), "no two servers")
  say("servers", names())
  local answered = {}
  for _, place in ipairs(places) do
    local needle, shift, method = unpack(place)
    local found = {}
    for number, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
      local column = line:find(needle, 1, true)
      if column then
        vim.api.nvim_win_set_cursor(0, { number, column - 1 + shift })
        break
      end
    end
    local ask = function(client) return vim.lsp.util.make_position_params(0, client.offset_encoding) end
    local answers, problem = vim.lsp.buf_request_sync(0, "textDocument/" .. method, ask, PATIENCE)
    assert(answers, problem)
    for id, answer in pairs(answers) do
      assert(not answer.err, vim.inspect(answer.err))
      if not is_empty(answer.result) then
        table.insert(found, vim.lsp.get_client_by_id(id).name)
      end
    end
    table.sort(found)
    table.insert(answered, found)
  end
  say("answered", answered)
end

common.run(main)
